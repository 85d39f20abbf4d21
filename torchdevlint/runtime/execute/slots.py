"""The slots of a program, each with the values that are tried for it, the likeliest first.

Evidence, in this order: the annotation, the default, how the body uses the name, and the name itself.
"""

from __future__ import annotations

import ast
import enum
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torchdevlint.runtime.execute import containers, words
from torchdevlint.runtime.execute.documented import documented
from torchdevlint.runtime.execute.evidence import evidence_of
from torchdevlint.runtime.execute.instances import answering
from torchdevlint.runtime.execute.loaders import LABELS, element, loader, loaders
from torchdevlint.runtime.execute.target import FunctionNode
from torchdevlint.runtime.execute.usage import Usage
from torchdevlint.runtime.execute.values import DEFAULT, SIZE, Description, by_name, tensor, unique, value

DEEPEST = 3
"""How far constructors are followed into the classes of their parameters."""
MODELS = (
    "nn.Linear(8, 8)",
    "nn.Identity()",
    "nn.Embedding(32, 8)",
    "nn.Conv2d(8, 8, 1)",
    "nn.LSTM(8, 8)",
    "nn.GRU(8, 8)",
)
_MODEL = re.compile(
    r"^(.*_)?(model|net|network|module|encoder|decoder|backbone|layer|generator|discriminator|embedder)$"
)
_CRITERION = re.compile(r"(criterion|loss_fn|loss_func|loss_function|objective)$")
_DEVICE = re.compile(r"^(.*_)?device$|^dev$")
_LOADER = re.compile(r"(loader|dataloader|data_iter|iterator|batches)$")
_MASK = re.compile(r"mask|^(is|has|done|valid)_?")
_LENGTHS = re.compile(r"(^|_)(lens?|lengths?)$")
_NUMBER = re.compile(
    r"^(n|num|max|min|k|size|dim|width|height|channels|hidden|seq|batch|h|w|d|c|len)(_|$)|(_size|_dim|_len|_num)$"
    r"|^(in|out|input|output|hidden|embed|embedding)_(features|channels|units|filters|nodes|dims)$"
)
_FLAG = re.compile(r"^(is|use|has|do|with|no|return|only|keep|should|verbose|training|debug)(_|$)")
_PATH = re.compile(r"(^|_)(file|filename|fname|path|filepath|dir|directory|folder)$")
_CONFIG = re.compile(r"^(.*_)?(config|cfg|conf|args|opt|opts|options|hparams|params|flags)$")
_CONTENT_OF_A_TENSOR = re.compile(
    r"^(x|y|z|data|mean|std|var|loc|scale|mu|sigma|weights?|bias|values?|points|centers?|anchors)$|tensor|matrix|embeddings$"
)
_CONTENTS = re.compile(r"\[(.*)\]$", re.DOTALL)
_KINDS = {
    "device": "device", "Callable": "function", "function": "function", "Optimizer": "optimizer",
    "Generator": "generator",
}  # fmt: skip
_CLASSES = ("Type", "type")
_MAKES_MODULES: Description = {"is": "name", "of": "torch.nn:Identity"}
"""A class of Modules that takes whatever it is constructed with."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A parameter or a name. `key` tells it from others; `optional` ones may be left out."""

    key: str
    name: str
    candidates: tuple[Description, ...]
    optional: bool = False


def slots_of(
    function: Callable[..., Any],
    node: FunctionNode | None,
    prefix: str = "",
    skip: int = 0,
    depth: int = 0,
    owner: ast.ClassDef | None = None,
) -> list[Slot]:
    """The parameters of `function`, of which the first `skip` are given by somebody else.

    What the methods of `owner` do with the attributes that its constructor keeps parameters in is evidence as well.

    A default is what most callers leave, so that it is tried before anything else; only a device is given first, since
    where things are is what is asked.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):
        return []
    evidence = evidence_of(node, owner)
    annotations = words.annotated(node) if node is not None else {}
    module = sys.modules.get(getattr(function, "__module__", "") or "")
    told = documented(function)
    found = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        text = annotations.get(parameter.name, "") or _text(parameter.annotation)
        optional = parameter.default is not parameter.empty
        usage = evidence.get(parameter.name, Usage())
        candidates = candidates_for(parameter.name, text, usage, evidence, parameter.default, module, depth)
        if not text and parameter.name in told:  # a docstring is believed first, and not alone
            by_text = _by_annotation(told[parameter.name], parameter.name, usage, module, depth)
            candidates = unique([*by_text, *candidates])
        if not text and inspect.isclass(function):
            candidates = _sizes_first(parameter.name, candidates, usage)
        if not text and not usage.tensor:
            candidates = unique([*_instances(usage, module, depth), *candidates])
        candidates = containers.asked_for(usage.kinds, candidates)
        if optional:
            placed = bool(candidates) and candidates[0]["is"] == "device"
            if None in usage.compared:
                candidates = unique([*candidates, value(None)])
            candidates = [*candidates, DEFAULT] if placed else [DEFAULT, *candidates]
        found.append(Slot(f"{prefix}{parameter.name}", parameter.name, tuple(candidates), optional))
    return found


def candidates_for(
    name: str,
    annotation: str,
    usage: Usage,
    around: Mapping[str, Usage],
    default: Any = inspect.Parameter.empty,
    module: Any = None,
    depth: int = 0,
) -> list[Description]:
    """What is tried for one name."""
    if usage.counts:  # what `range` or `enumerate` gives is a number, which an index takes as well
        return [value(0), value(1)]
    if _DEVICE.search(name) and annotation != "int":
        return [{"is": "device"}]
    told = _by_annotation(annotation, name, usage, module, depth)
    if told:
        return unique([*words.of_body(usage, module), *told]) if words.are_all(told) else told
    if isinstance(default, bool):
        return [value(not default)]
    if isinstance(default, str):
        return unique([value(default), *words.of_body(usage, module)])
    if isinstance(default, (int, float)):
        return [value(default)]
    return unique([*_by_use_and_name(name, usage, around, module), *_anything(name, usage)])


def _by_annotation(text: str, name: str, usage: Usage, module: Any, depth: int) -> list[Description]:
    """What an annotation names; nothing for one that is not known."""
    plain = text.strip().strip("'\"").replace("typing.", "").replace("torch.nn.modules.", "nn.")
    plain = re.sub(r"\s+", " ", plain)
    parts = [part.strip() for part in words.split(plain, "|")]
    if len(parts) > 1:
        kept = [part for part in parts if part not in ("None", "NoneType")]
        return [each for part in kept for each in _by_annotation(part, name, usage, module, depth)]
    head = plain.partition("[")[0].rpartition(".")[2]
    inside = _CONTENTS.search(plain)
    contents = words.split(inside[1], ",") if inside else []
    if head in ("Optional", "Union", "Annotated"):
        kept = (
            contents[:1]
            if head == "Annotated"
            else [part for part in contents if part.strip() not in ("None", "NoneType")]
        )
        return [each for part in kept for each in _by_annotation(part, name, usage, module, depth)]
    if head in ("Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor"):
        return _tensors(name, usage, {"LongTensor": "int64", "IntTensor": "int32", "BoolTensor": "bool"}.get(head))
    if head in ("int", "float", "bool", "str", "complex"):
        return _plain(head, name)
    if head == "Literal":
        return words.of_literal(contents)
    if head in containers.LISTS | containers.DICTS and not contents:
        return containers.bare(head, name, usage.keys)
    if head in containers.LISTS:
        kind = "tuple" if head.lower() == "tuple" else "list"
        each = [part for part in contents if part.strip() != "..."]
        items = [(_by_annotation(part, name, Usage(), module, depth) or [tensor(SIZE, SIZE)])[0] for part in each]
        return [{"is": kind, "of": items if kind == "tuple" and "..." not in inside[1] else [items[0], items[0]]}]  # type: ignore[index]
    if head in containers.DICTS and len(contents) == 2:
        item = (_by_annotation(contents[1], name, Usage(), module, depth) or [tensor(SIZE, SIZE)])[0]
        return [containers.of_keys(usage.keys, item)]
    if head == "dtype":
        return []
    if head in _KINDS or head in _CLASSES:
        return _of_kind(head, contents, module)
    if head == "Module":
        return [{"is": "module", "make": make} for make in MODELS]
    if head == "ndarray":
        return [{"is": "numpy", "shape": [SIZE] * rank} for rank in (2, 3, 1)]
    if head == "DataLoader":
        return [loader()]
    return _by_class(plain, module, depth)


def _of_kind(head: str, contents: list[str], module: Any) -> list[Description]:
    """A value of a kind that torch has. What makes Modules is a class of them; ``type[Block]`` is `Block` itself."""
    made = contents[-1].strip() if contents and head in (*_CLASSES, "Callable") else ""
    if made.rpartition(".")[2] == "Module":
        return [_MAKES_MODULES]
    if head not in _CLASSES:
        return [{"is": _KINDS[head]}]
    found = words.attribute(module, made) if made else None
    return [{"is": "name", "of": f"{found.__module__}:{found.__qualname__}"}] if inspect.isclass(found) else []


def _by_class(text: str, module: Any, depth: int) -> list[Description]:
    """An annotation that names a class of the module: one is constructed, from values for its own parameters."""
    found = words.attribute(module, text.partition("[")[0])
    if not inspect.isclass(found) or found.__module__ in ("builtins", "typing") or depth >= DEEPEST:
        return []
    if issubclass(found, enum.Enum):
        return words.of_enumeration(found)
    return [instance_of(found, depth)]


def instance_of(made: type, depth: int = 0) -> Description:
    """The description of an instance: its constructor gets the likeliest values."""
    inside = {slot.name: slot.candidates[0] for slot in slots_of(made, None, depth=depth + 1) if slot.candidates}
    return {"is": "instance", "of": f"{made.__module__}:{made.__qualname__}", "with": inside}


def _instances(usage: Usage, module: Any, depth: int) -> list[Description]:
    """Instances of the project's own classes that have all attributes which are asked of a name."""
    if module is None or depth >= DEEPEST:
        return []
    return [instance_of(found, depth) for found in answering(usage.attributes, module)]


def _by_use_and_name(  # noqa: C901
    name: str, usage: Usage, around: Mapping[str, Usage], module: Any
) -> list[Description]:
    """Without an annotation or a telling default."""
    if usage.device:
        return [{"is": "device"}]
    if usage.generator and not usage.called:
        return [{"is": "generator"}, value(None)]
    if _LOADER.search(name):
        return loaders(usage, around)
    if _CRITERION.search(name):
        return [{"is": "module", "make": make} for make in ("nn.CrossEntropyLoss()", "nn.MSELoss()", "nn.BCELoss()")]
    if name.startswith("optim") or ("zero_grad" in usage.attributes and "step" in usage.attributes):
        return [{"is": "optimizer"}]
    if usage.elements and any(isinstance(each, ast.Tuple) for each in usage.elements) and not usage.tensor:
        return loaders(usage, around)
    if usage.keys and not usage.tensor and not _CONFIG.search(name):
        return [{"is": "dict", "of": {key: element(key) for key in dict.fromkeys(usage.keys)}}]
    if usage.called and not usage.tensor:
        models = [{"is": "module", "make": make} for make in MODELS]
        return models if _MODEL.search(name) or len(name) < 2 else [{"is": "function"}, *models]
    if {"parameters", "state_dict", "train", "eval", "named_parameters"} & usage.attributes:
        return [{"is": "module", "make": make} for make in MODELS]
    if _MODEL.search(name) and not usage.tensor:
        return [{"is": "module", "make": make} for make in MODELS]
    if _CONFIG.search(name) and not usage.tensor:
        return [{"is": "namespace", "asked": sorted(usage.attributes)}]
    if {"keys", "values", "items"} & usage.attributes:
        return [{"is": "dict", "of": {key: tensor(SIZE, SIZE) for key in ("input", "target")}}]
    if usage.sized and not usage.tensor:
        return [value(by_name(name) if by_name(name) is not None else SIZE)]
    if (known_words := words.of_body(usage, module)) and not usage.tensor:
        return known_words
    if usage.compared and not usage.tensor and (constants := [each for each in usage.compared if each is not None]):
        return [value(each) for each in dict.fromkeys(constants)]
    if _LENGTHS.search(name):
        packed = any(path.endswith("pack_padded_sequence") for path in around)
        lengths = tensor(SIZE, dtype="int64", fill="lengths")
        return [{**lengths, "on": "cpu"} if packed else lengths, value([SIZE] * SIZE)]
    if _PATH.search(name) and not usage.tensor:  # of the empty folder that it runs in
        return [value(name)]
    known = by_name(name)
    if known is not None and not usage.tensor:
        return [value(known)]
    if _FLAG.search(name) and not usage.tensor:
        return [value(True), value(False)]
    if _NUMBER.search(name) and not usage.tensor:
        return [value(SIZE)]
    return _tensors(name, usage, None)


def _sizes_first(name: str, candidates: list[Description], usage: Usage) -> list[Description]:
    """What constructors take is a size rather than a tensor, unless its name or the body says otherwise."""
    plain = candidates[:1] == [tensor(SIZE, SIZE)] and not usage.tensor
    return unique([value(SIZE), *candidates]) if plain and not _CONTENT_OF_A_TENSOR.search(name) else candidates


def _tensors(name: str, usage: Usage, dtype: str | None) -> list[Description]:
    """Tensors by their rank and type; what the body says of either comes first."""
    likeliest = sorted((2, 3, 4, 1), key=lambda rank: rank < usage.at_least)
    ranks = [usage.rank] if usage.rank else list(dict.fromkeys([*usage.ranks, *likeliest]))
    if dtype is None and LABELS.search(name):
        return [tensor(*[SIZE] * rank, dtype="int64") for rank in (ranks if usage.rank else (1, 2))] + [
            tensor(*[SIZE] * rank) for rank in ranks
        ]
    if dtype is None and _MASK.search(name):
        kinds = ["bool", "float32", "int64"]
    else:
        kinds = [dtype] if dtype is not None else ["float32", "int64"]
    return [tensor(*[SIZE] * rank, dtype=kind) for kind in kinds for rank in ranks]


def _plain(kind: str, name: str) -> list[Description]:
    known = by_name(name)
    if kind == "bool":
        return [value(False), value(True)]
    if kind == "str":
        return [value(known if isinstance(known, str) else name)]
    if isinstance(known, (int, float)):
        return [value(int(known) if kind == "int" else float(known))]
    return [value(SIZE), value(2), value(1)] if kind == "int" else [value(0.5), value(1.0)]


def _anything(name: str, usage: Usage) -> list[Description]:
    """Last resorts, whatever the name."""
    known = by_name(name)
    return [
        *([value(known)] if known is not None else []),
        *_tensors(name, usage, None),
        value(SIZE),
        value(0.5),
        {"is": "list", "of": [tensor(SIZE, SIZE), tensor(SIZE, SIZE)]},
        {"is": "module", "make": MODELS[0]},
        {"is": "namespace"},
        {"is": "dict", "of": {key: tensor(SIZE, SIZE) for key in ("input", "target")}},
        value(None),
    ]


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", None) or str(annotation)
