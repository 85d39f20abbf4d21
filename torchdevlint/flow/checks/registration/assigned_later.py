"""Containers of modules that another method of a Module makes than ``__init__`` (TDL102).

``def fit(self, sizes): self.tables = [nn.Embedding(n, 4) for n in sizes]``: once it has run, the Module is trained,
saved and moved without them. An attribute that several methods write may be what another one has made of it, and what
a method brings somewhere is seen to by hand.
"""

from __future__ import annotations

from torchdevlint.flow.checks.registration.containers import look_at
from torchdevlint.flow.events import FunctionEnded
from torchdevlint.flow.kinds.construction import is_part_of_init
from torchdevlint.flow.kinds.held_modules import parts_of
from torchdevlint.flow.run.built_attributes import makers_of
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.values import Library, Map, Obj, Seq


def _note_end(event: FunctionEnded) -> None:
    frame, owner, function = event.frame, event.frame.owner, event.frame.function
    name = getattr(function, "name", "")
    if owner is None or not owner.is_module or frame.depth or frame.entry.kind == "init":
        return
    if owner.methods.get(name) is not function or name in ("__init__", "forward"):
        return
    built = [
        (path.removeprefix("self."), value)
        for path, value in event.end.paths.items()
        if path.startswith("self.") and isinstance(value, (Seq, Map)) and not _is_placed(value)
    ]
    alone = [(path, value) for path, value in built if makers_of(owner, path) == [function]]
    if alone and not is_part_of_init(frame.machine, owner, name):
        look_at(frame.machine, owner, name, alone)


def _is_placed(value: Seq | Map) -> bool:
    """Whether a module of a container was brought to a device."""
    inside = (each for part in parts_of(value) for _, each in alternatives(part))
    return any(isinstance(each, (Library, Obj)) and each.placed is not None for each in inside)


EVENTS = {FunctionEnded: _note_end}
