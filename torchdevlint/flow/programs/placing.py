"""What may bring something to an accelerator: moves, devices, and libraries that place by themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.handed_devices import HandedDevices
from torchdevlint.flow.scope.cuda_literals import Scope, is_settled, names_cpu
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import nodes_in, once_a_node

_GIVEN = frozenset({"device", "map_location", "device_map", "device_id", "device_ids", "gpu", "gpus", "accelerator"})
"""Keywords that say where something is made, read or trained."""
_LIBRARIES = regex(
    r"accelerate|(?:pytorch_)?lightning|deepspeed|fastai|ultralytics|sentence_transformers|whisper|clip|open_clip|easyocr"
    r"|stable_baselines3|ray|torchtune|skorch|botorch|gpytorch|cupy|horovod|mmcv|mmengine|mmdet|detectron2|ignite|catalyst"
    r"|composer|vllm|unsloth|peft|trl|bitsandbytes|diffusers|TTS|super_gradients|monai|pytorch_tabnet|flair|stanza|bert_score"
)
"""Libraries that choose a device for what they make or train."""
_MOVING = frozenset({"to", "to_empty", "cuda"})
_PLACING = frozenset(
    "Trainer Seq2SeqTrainer SFTTrainer Accelerator Learner DataParallel DistributedDataParallel pipeline "
    "set_default_device set_default_tensor_type data_parallel".split()
)
ON_HOST = frozenset("cpu numpy item tolist size dim numel nelement __len__ shape dtype ndim device keys format".split())
"""Attributes and methods that give a number, an array, or what is on the CPU."""
_OF_HOST = frozenset("len int float str range bool isinstance print type id hash repr format round time open".split())


class Placing:
    """Some code as a whole, with all calls that it makes."""

    def __init__(self, scopes: Iterable[tuple[Scope, ast.stmt]]) -> None:
        self._calls = [(scope, call) for scope, node in scopes for call in nodes_in(node, ast.Call)]
        self._handed = HandedDevices(self._calls, names_cpu)

    def may_move(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a method brings what it is called of to an accelerator: ``x.to(device)``, ``x.cuda()``."""
        if not isinstance(call.func, ast.Attribute) or dotted_path(call.func) == "torch.cuda":
            return False
        if call.func.attr == "cuda":
            return True
        places = [each.value for each in call.keywords if each.arg in _GIVEN] + call.args[:1]
        return call.func.attr in _MOVING and any(not self._is_of_cpu(scope, each) for each in places)

    def may_make(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a function or class of a library may bring what it makes, or is given, to an accelerator."""
        path, last = dotted_path(call.func) or "", last_name(call.func)
        if last in _PLACING or path == "torch.cuda.device":
            return True
        if path.endswith("device") or last in ("isinstance", "print"):
            return False
        places = [each.value for each in call.keywords if each.arg in _GIVEN]
        places += [each for each in call.args if "device" in last_name(each)]
        return any(not self._is_of_cpu(scope, each) for each in places)

    def _is_of_cpu(self, scope: Scope, place: ast.expr) -> bool:
        return is_settled(place) or self._handed.is_so(scope, place)


def is_imported_from(tree: ast.Module, path: str) -> bool:
    """Whether a path of names in a file is of such a library."""
    return path.partition(".")[0] in _of_libraries(tree)


@once_a_node
def _of_libraries(tree: ast.Module) -> frozenset[str]:
    named = [(each, each.name) for node in nodes_in(tree, ast.Import) for each in node.names]
    named += [
        (each, node.module or "") for node in nodes_in(tree, ast.ImportFrom) if not node.level for each in node.names
    ]
    held = (each for each, module in named if _LIBRARIES.fullmatch(module.partition(".")[0]))
    return frozenset(each.asname or each.name.partition(".")[0] for each in held)


def is_put_on_host(call: ast.Call) -> bool:
    """Whether a call brings something to the CPU by name."""
    is_move = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) == 1
    return is_move and isinstance(call.args[0], ast.Constant) and call.args[0].value == "cpu"


def is_of_host(path: str, call: ast.Call) -> bool:
    """Whether a call gives a number, an array, or a tensor that is made anew where all are made."""
    first, _, last = path.rpartition(".")
    if first == "torch" and last in torch_api.FACTORIES:
        return not any(each.arg == "device" for each in call.keywords) and not last.endswith(
            ("_like", "as_tensor", "asarray")
        )
    return path in _OF_HOST or first.partition(".")[0] in ("np", "numpy", "os", "json", "random", "math", "time", "plt")
