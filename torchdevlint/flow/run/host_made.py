"""Tensors that other libraries make of images and sounds: on the CPU, whatever the default device is.

What a transform of torchvision makes of a tensor is where that is.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.kinds.graphs import data_set
from torchdevlint.flow.kinds.placed_batches import places
from torchdevlint.flow.run.operations import created
from torchdevlint.flow.scope.names import mentions_cuda, mentions_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT
from torchdevlint.flow.state.joins import alternatives, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import elements
from torchdevlint.flow.state.values import AT_LEAST_1, UNKNOWN, Library, Seq, Tensor, Value
from torchdevlint.source.nodes import inside

_FUNCTIONS = frozenset(
    f"torchvision.{name}"
    for name in """
    transforms.functional.to_tensor transforms.functional.pil_to_tensor transforms.v2.functional.to_image
    transforms.v2.functional.to_tensor transforms.v2.functional.pil_to_tensor io.read_image io.read_file
    """.split()
)
_FIRST_OF_SEVERAL = frozenset({"torchvision.io.read_video", "torchaudio.load", "torchaudio.load_wav"})
"""What gives a tuple that a tensor begins, with numbers behind."""
_PACKAGES = ("torchvision.transforms", "torchvision.transforms.transforms", "torchvision.transforms.v2")
_CLASSES = frozenset(
    f"{package}.{name}" for package in _PACKAGES for name in ("ToTensor", "PILToTensor", "ToImage")
) | {"albumentations.pytorch.ToTensorV2", "albumentations.pytorch.transforms.ToTensorV2"}
_PIPELINES = frozenset(f"{package}.Compose" for package in _PACKAGES)
_STEPS = frozenset(
    f"{package}.{name}"
    for package in _PACKAGES
    for name in """
    Normalize Resize CenterCrop FiveCrop Pad Grayscale ColorJitter GaussianBlur ElasticTransform RandomCrop
    RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip RandomRotation RandomAffine RandomPerspective
    RandomGrayscale RandomErasing RandomInvert RandomPosterize RandomSolarize RandomAdjustSharpness
    RandomAutocontrast RandomEqualize
    """.split()
)
"""What takes tensors as well as images, and gives a tensor where the one it was given is."""
_CONVERTERS = _CLASSES | _PIPELINES


def call(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments) -> Value:
    """What a library function or class with this name gives, where that is a tensor of the CPU, or makes such."""
    if name in _FUNCTIONS:
        return _made(frame, state, node, name)
    if name in _FIRST_OF_SEVERAL:
        first = _made(frame, state, node, name)
        return sequence([first, first, UNKNOWN] if name.endswith("video") else [first, UNKNOWN])
    if name in _CLASSES or name in _STEPS or (name in _PIPELINES and _ends_on_cpu(node, arguments)):
        return Library(name)
    if name in _PIPELINES and (steps := _steps_of(arguments)) and all(map(_keeps_place, steps)):
        return Library(name, children=tuple(steps))
    return data_set(frame, node, name) or _placed_data(frame, node, name, arguments) or UNKNOWN


def _placed_data(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Library | None:
    """A data set of a class that is not seen, made of what is on an accelerator: what it gives may be there as well."""
    tail = name.rpartition(".")[2]
    is_data = tail[:1].isupper() and "dataset" in tail.lower()
    if not is_data or not any(places(frame.machine.tree, each, surely=True) for each in arguments.all_values):
        return None
    return Library(name, children=tuple(arguments.all_values), made_at=node)


def convert(frame: Frame, state: State, node: ast.Call, converter: Library, arguments: Arguments) -> Value:
    """What calling an instance of such a class gives."""
    if _keeps_place(converter):
        given = arguments.positional[0][1] if arguments.positional else UNKNOWN
        return replace(given, opaque=False) if isinstance(given, Tensor) else given
    return _made(frame, state, node, converter.name) if converter.name in _CONVERTERS else UNKNOWN


def _keeps_place(transform: Value) -> bool:
    """Whether it is a transform that gives what it is given, changed, where that is."""
    if not isinstance(transform, Library):
        return False
    return transform.name in _STEPS or (transform.name in _PIPELINES and bool(transform.children))


def _made(frame: Frame, state: State, node: ast.Call, name: str) -> Tensor:
    return created(frame, state, node, name, AT_LEAST_1, DEFAULT)


def _ends_on_cpu(node: ast.Call, arguments: Arguments) -> bool:
    """Whether one of the steps converts, and none of them says where to."""
    steps = _steps_of(arguments)
    names = {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in inside(node)}
    converts = any(isinstance(each, Library) and each.name in _CONVERTERS for each in steps)
    return converts and not any(mentions_device(each) or mentions_cuda(each) for each in names)


def _steps_of(arguments: Arguments) -> list[Value]:
    """The transforms that a pipeline is made of, as far as they are known."""
    held = [each for value in arguments.values for _, each in alternatives(value) if isinstance(each, Seq)]
    return [step for each in held for step in elements(each)]
