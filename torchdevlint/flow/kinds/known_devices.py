"""Objects that know their device though nobody asks: those of accelerate, of classes whose base has a device, records.

What is of accelerate is told by what made it, by its annotation, or by what it is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.knowledge import libraries
from torchdevlint.flow.scope.annotations import annotation_name, named_in, without_none
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.command_line import options
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Cls, Unknown
from torchdevlint.source.nodes import keyword_of, nodes_in, once_a_node

ACCELERATOR = "accelerate.Accelerator"
ACCELERATOR_OF_CPU = "accelerate.Accelerator of the CPU"
"""What is made of ``Accelerator(cpu=True)``."""
ACCELERATORS = (ACCELERATOR, "accelerate.accelerator.Accelerator")
"""How annotations name the class."""
_ASKED = frozenset(
    """
    prepare prepare_model unwrap_model accumulate backward gather_for_metrics wait_for_everyone is_main_process
    is_local_main_process sync_gradients clip_grad_norm_ save_state load_state init_trackers free_memory
    """.split()
)
"""What nothing else that is called an accelerator is asked for."""


_PARSED = frozenset({"args", "opt", "opts", "options"})
"""What functions call the outcome of a parser."""


def at_hand(frame: Frame, state: State) -> Iterator[tuple[str, str, ast.AST]]:
    """The devices that objects know here: ``accelerator.device``, ``self.device``; why, and the place that shows it."""
    yield from _of_base(frame, state)
    yield from _of_records(frame)
    yield from _of_options(frame)
    function = frame.function
    for name, value in state.env.items():
        if isinstance(value, Unknown) and value.made_by == ACCELERATOR:
            bound = values_by_path(function or frame.machine.tree).get(name, ())
            shown = next(iter(bound), function)
            if shown is not None:
                yield f"{name}.device", f"`{name}` knows the device", shown
    for each in nodes_in(function.args, ast.arg) if function is not None else ():
        named = annotation_name(without_none(each.annotation)) == "Accelerator"
        if named or (each.arg == "accelerator" and _is_asked(function, each.arg)):
            yield f"{each.arg}.device", f"the function is given `{each.arg}`", each


def _of_records(frame: Frame) -> Iterator[tuple[str, str, ast.AST]]:
    """``config.device`` of an argument whose class says that it has one: ``device: str``."""
    for each in nodes_in(frame.function.args, ast.arg) if frame.function is not None else ():
        plain = without_none(each.annotation)
        named = frame.evaluate(plain, State({})) if isinstance(plain, (ast.Name, ast.Attribute)) else None
        if isinstance(named, Cls) and any(_holds_device(info.node) for info in named.info.mro):
            yield f"{each.arg}.device", f"`{each.arg}` holds a device", each


def _of_options(frame: Frame) -> Iterator[tuple[str, str, ast.AST]]:
    """``args.device`` of an argument, in a file that adds the option ``--device`` to a command line."""
    function, tree = frame.function, frame.machine.tree
    if function is None or "add_argument" not in frame.machine.words:
        return
    for each in nodes_in(function.args, ast.arg):
        named = annotation_name(without_none(each.annotation)) == "Namespace"
        added = next(options(tree, "device"), None) if named or each.arg in _PARSED else None
        default = None if added is None else keyword_of(added, "default")
        if added is not None and not (isinstance(default, ast.Constant) and default.value == "cpu"):
            yield f"{each.arg}.device", "the option `--device` says where", added


@once_a_node
def _holds_device(node: ast.ClassDef) -> bool:
    fields = (each for each in node.body if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name))
    said = (each.annotation for each in fields if dotted_path(each.target) == "device")
    return any(annotation_name(named) in ("str", "device") for each in said for named in named_in(each))


def _of_base(frame: Frame, state: State) -> Iterator[tuple[str, str, ast.AST]]:
    """``self.device`` of a LightningModule, a model of transformers and their kin, once they are built."""
    owner = frame.owner
    if owner is None or "self" not in state.env or getattr(frame.function, "name", "__init__") == "__init__":
        return
    for base in (each for info in owner.mro for each in info.library_bases):
        found = libraries.known(base)
        if found is not None and found.device:
            yield "self.device", f"a `{base.rpartition('.')[2]}` has a device", owner.node


def _is_asked(function: ast.AST | None, name: str) -> bool:
    """Whether a parameter without a type is asked for what an `Accelerator` has."""
    return function is not None and not _ASKED.isdisjoint(asked_in(function).get(name, ()))
