"""What a file leaves where it is beside the very like of it, by its text (TDL310): who looks for that.

They are imported for a file that moves something, of which there are few.
"""

from __future__ import annotations

from importlib import import_module

from torchdevlint.flow.checks.forgotten.left_behind import moves_any
from torchdevlint.flow.events import FileEnded

_LOOKING = (
    "left_in_one_arm",
    "left_of_arguments",
    "left_of_calls",
    "left_of_leaving",
    "left_of_makers",
    "left_of_methods",
    "left_of_own",
    "left_of_parallel",
    "left_of_rebound",
    "left_of_replaced",
    "left_under_flag",
)


def _note_end(event: FileEnded) -> None:
    if moves_any(event.machine):
        for name in _LOOKING:
            import_module(f"{__package__}.{name}").look(event.machine)


SAYING = (".to(", ".cuda(")
EVENTS = {FileEnded: _note_end}
