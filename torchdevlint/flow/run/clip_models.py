"""What the packages of CLIP give: a model, on the device that they are told, and the transforms for its images.

``clip.load`` puts the model on the GPU where there is one, unless it is told otherwise; `open_clip` leaves it on the
CPU. Both as of clip 1.0 and open_clip 2.20.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, Device, Origin
from torchdevlint.flow.state.joins import sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.values import Library, Step, Value

PACKAGES = ("clip.", "open_clip.")
_TRANSFORMS = {
    "clip.load": 1,
    "clip.clip.load": 1,
    "open_clip.create_model": 0,
    "open_clip.create_model_from_pretrained": 1,
    "open_clip.create_model_and_transforms": 2,
}
"""Functions that make a model, and how many transforms they give behind it."""
_PLACE_OF_DEVICE = {"clip": 1, "open_clip": 3}


def call(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Value | None:
    """What a function of these packages gives, where that is a model; else None."""
    transforms = _TRANSFORMS.get(name)
    if transforms is None or arguments.starred or arguments.double_starred:
        return None
    model = _model(frame, node, name, arguments)
    given = [Library("torchvision.transforms.Compose", made_at=node)] * transforms
    return sequence([model, *given]) if given else model


def _model(frame: Frame, node: ast.Call, name: str, arguments: Arguments) -> Value:
    package = name.partition(".")[0]
    if frame.owner is not None and frame.owner.is_module:  # it moves with the Module that keeps it
        return Library("", True, DEFAULT, made_at=node)
    given = arguments.get(_PLACE_OF_DEVICE[package], "device")
    if given is not None:
        there = as_device(frame, *given)
    elif package == "open_clip":
        return Library("", True, DEFAULT, made_at=node)
    else:
        there = Device(Origin.LITERAL, "cuda")
    return Library("", True, there, made_at=node, placed=Step(f"placed by `{name}`", node))
