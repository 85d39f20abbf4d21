"""What may bring something to an accelerator: moves, devices, and libraries that place by themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.handed_devices import HandedDevices
from torchdevlint.flow.programs.texts.set_to_cpu import set_to_cpu
from torchdevlint.flow.programs.texts.switched_off import SwitchedOff
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.cuda_literals import CPU, Named, Scope, is_named, is_of_tensor, is_settled
from torchdevlint.flow.scope.hidden_gpus import hide_gpus
from torchdevlint.flow.scope.names import (
    dotted_path,
    is_cpu_spec,
    is_dtype,
    last_name,
    parameter_names,
    places_in,
    public_path,
)
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
_LIGHTNING = ("lightning", "pytorch_lightning")
_UNTIL_2 = frozenset(
    "weights_summary progress_bar_refresh_rate checkpoint_callback log_gpu_memory stochastic_weight_avg amp_backend "
    "terminate_on_nan flush_logs_every_n_steps prepare_data_per_node process_position reload_dataloaders_every_epoch "
    "truncated_bptt_steps resume_from_checkpoint track_grad_norm auto_lr_find auto_scale_batch_size amp_level "
    "replace_sampler_ddp max_nb_epochs early_stop_callback".split()
)
"""Arguments that a `Trainer` has before release 2.0, where it trains on the CPU unless it is told otherwise."""
_TOLD = frozenset(
    "accelerator strategy devices gpus num_gpus auto_select_gpus tpu_cores ipus hpus num_processes distributed_backend "
    "plugins".split()
)
"""Arguments that may tell it so."""
_TOLD_OUTSIDE = frozenset({"from_argparse_args", "LightningCLI"})
_KEPT = regex(r"self\.\w+(?:\.\w+)*\.device")
ON_HOST = frozenset("cpu numpy item tolist size dim numel nelement __len__ shape dtype ndim device keys format".split())
"""Attributes and methods that give a number, an array, or what is on the CPU."""
FILLING = frozenset("append extend add update insert put appendleft setdefault copy_ fill_ push".split())
OF_ITSELF = frozenset("train eval half float double bfloat16 type requires_grad_ share_memory apply compile".split())
"""Methods of a Module that give it back."""
_NO_TENSORS = frozenset("numpy os json random math time matplotlib".split())
"""Libraries whose functions give none."""
_OF_NUMBERS = torch_api.PARAMETER_MODULES - frozenset("Transformer TransformerDecoder TransformerEncoder".split())
"""Layers that make their own weights, of what is a number."""
_OF_HOST = frozenset("len int float str range bool isinstance print type id hash repr format round time open".split())


class Placing:
    """Some code as a whole, with all calls that it makes."""

    def __init__(self, scopes: Iterable[tuple[Scope, ast.stmt]]) -> None:
        parts = list(scopes)
        self._parts = parts
        self._asked = {id(call): tensor for _, node in parts for tensor, call in _below_questions(node)}
        calls = [(scope, call) for scope, node in parts for call in nodes_in(node, ast.Call)]
        switches = SwitchedOff(parts, calls)
        self._never_run = switches.never_run
        self._cpu = Named(CPU, switches.outcome, lambda value: id(value) in switches.never_run)
        self._calls = [(scope, call) for scope, call in calls if id(call) not in self._never_run]
        self._keeps_devices = any(_keeps_device(node) for _, node in parts)
        self._handed = HandedDevices(self._calls, self._names_cpu)
        self._trains_on_cpu = _train_on_cpu(self._calls)
        self._set_to_cpu = set_to_cpu(parts)

    @cached_property
    def places_nothing(self) -> bool:
        """Whether none of the code brings anything to an accelerator, or none is to be seen."""
        if hide_gpus(node for _, node in self._parts):
            return True
        if any(_of_libraries(scope.file.tree) for scope, _ in self._parts):
            return False
        calls = [each for each in self._calls if self.tensor_asked(each[1]) is None]
        return not any(self.may_make(*each) or self.may_move(*each) for each in calls)

    def tensor_asked(self, call: ast.Call) -> ast.expr | None:
        """The tensor that a move goes after: ``if x.is_cuda: y = y.cuda()``."""
        return self._asked.get(id(call))

    def may_move(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a method brings what it is called of to an accelerator: ``x.to(device)``, ``x.cuda()``."""
        if not isinstance(call.func, ast.Attribute) or public_path(call.func) == "torch.cuda":
            return False
        if id(call) in self._never_run:
            return False
        if call.func.attr == "cuda":
            return True
        places = [each.value for each in call.keywords if each.arg in _GIVEN] + call.args[:1]
        return call.func.attr in _MOVING and any(not self._is_of_cpu(scope, each) for each in places)

    def may_make(self, scope: Scope, call: ast.Call) -> bool:
        """Whether a function or class of a library may bring what it makes, or is given, to an accelerator."""
        path, last = public_path(call.func), last_name(call.func)
        if id(call) in self._never_run:
            return False
        if last in _PLACING or path == "torch.cuda.device":
            return not (self._trains_on_cpu and _is_trainer(scope, call))
        if path.endswith("device") or last in ("isinstance", "print"):
            return False
        places = [each.value for each in call.keywords if each.arg in _GIVEN]
        places += [each for each in call.args if "device" in last_name(each)]
        return any(not self._is_of_cpu(scope, each) for each in places)

    def is_of_library(self, tree: ast.Module, path: str) -> bool:
        """Whether a path of names in a file is of a library that places by itself."""
        module = _of_libraries(tree).get(path.partition(".")[0])
        return module is not None and not (self._trains_on_cpu and module in _LIGHTNING)

    def _is_of_cpu(self, scope: Scope, place: ast.expr) -> bool:
        return is_settled(place) or self._follows(scope, place) or self._handed.is_so(scope, place)

    def _names_cpu(self, scope: Scope, place: ast.expr) -> bool:
        if is_dtype(place):
            return True  # what is called by the name of a function that is given a device may be told a type
        return (isinstance(place, ast.Attribute) and place.attr in self._set_to_cpu) or is_named(
            scope, place, self._cpu
        )

    def _follows(self, scope: Scope, place: ast.expr) -> bool:
        """Whether it is where a tensor of an object is, or a name for a place at hand: ``device = self.table.device``.

        Objects of some class may have been told a device, which is no tensor's.
        """
        values, function = [place], scope.function
        if isinstance(place, ast.Name):
            is_function = isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            if not is_function or place.id in parameter_names(function):  # type: ignore[arg-type]
                return False
            values = values_by_path(function).get(place.id, [])  # type: ignore[arg-type]
        is_of_object = not self._keeps_devices
        return bool(values) and all(is_settled(each) or (is_of_object and _is_of_kept(each)) for each in values)


def _below_questions(node: ast.stmt) -> Iterator[tuple[ast.expr, ast.Call]]:
    """The calls that are only run where a tensor is on an accelerator, as a test of it says, with the tensor."""
    tests: list[ast.If | ast.IfExp] = [*nodes_in(node, ast.If), *nodes_in(node, ast.IfExp)]
    for each in tests:
        if isinstance(each.test, ast.Attribute) and each.test.attr == "is_cuda":
            body = each.body if isinstance(each.body, list) else [each.body]
            yield from ((each.test.value, call) for held in body for call in nodes_in(held, ast.Call))


def _is_of_kept(place: ast.expr) -> bool:
    """``self.table.device``, where options that an object keeps are none of its tensors (``self.args.device``)."""
    path = dotted_path(place) or ""
    return _KEPT.fullmatch(path) is not None and is_of_tensor(path.removeprefix("self."))


def _keeps_device(node: ast.stmt) -> bool:
    """Whether some code gives objects a device: ``self.device = device``, or a property."""
    given = any(each.attr == "device" and isinstance(each.ctx, ast.Store) for each in nodes_in(node, ast.Attribute))
    is_property = isinstance(node, ast.FunctionDef) and node.name == "device"
    return given or is_property or any(each.name == "device" for each in nodes_in(node, ast.FunctionDef))


def _train_on_cpu(calls: Iterable[tuple[Scope, ast.Call]]) -> bool:
    """Whether all trainers of Lightning that some code makes are left on the CPU, as those before release 2.0 are."""
    made = [(scope, call) for scope, call in calls if last_name(call.func) in ("Trainer", *_TOLD_OUTSIDE)]
    given = [{each.arg for each in call.keywords} for scope, call in made if _is_trainer(scope, call)]
    is_open = any(None in names or not _TOLD.isdisjoint(names) for names in given) or len(given) < len(made)
    return not is_open and any(not _UNTIL_2.isdisjoint(names) for names in given)


def _is_trainer(scope: Scope, call: ast.Call) -> bool:
    """Whether a call makes a `Trainer` of Lightning."""
    module = _of_libraries(scope.file.tree).get((dotted_path(call.func) or "").partition(".")[0])
    return last_name(call.func) == "Trainer" and module in _LIGHTNING


@once_a_node
def _of_libraries(tree: ast.Module) -> dict[str, str]:
    """The libraries by the names that a file has of them."""
    named = [(each, each.name) for node in nodes_in(tree, ast.Import) for each in node.names]
    named += [
        (each, node.module or "") for node in nodes_in(tree, ast.ImportFrom) if not node.level for each in node.names
    ]
    libraries = [(each, module.partition(".")[0]) for each, module in named]
    return {
        each.asname or each.name.partition(".")[0]: library
        for each, library in libraries
        if _LIBRARIES.fullmatch(library)
    }


def is_put_on_host(call: ast.Call) -> bool:
    """Whether a call brings something to the CPU by name."""
    is_move = isinstance(call.func, ast.Attribute) and call.func.attr == "to" and len(call.args) <= 1
    named = places_in(call) if is_move else ()
    return len(named) == 1 and is_cpu_spec(named[0])


def is_of_host(call: ast.Call) -> bool:
    """Whether a call gives a number, an array, or a tensor that is made anew where all are made."""
    path = public_path(call.func)
    first, _, last = path.rpartition(".")
    if first == "torch.nn" and last in _OF_NUMBERS:
        return not any((each.arg or "_").startswith("_") for each in call.keywords)
    if first == "torch" and last in torch_api.FACTORIES:
        return not any(each.arg == "device" for each in call.keywords) and not last.endswith(
            ("_like", "as_tensor", "asarray")
        )
    return path in _OF_HOST or first.partition(".")[0] in _NO_TENSORS
