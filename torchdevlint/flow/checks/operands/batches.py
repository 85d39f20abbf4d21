"""Parts of a batch that reach an operation where the loader made them (TDL005)."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.operands.met_elsewhere import led_by
from torchdevlint.flow.checks.operands.witnesses import Witness, is_fed_alone, is_moved_where_told, witness_of
from torchdevlint.flow.facts.common import Operand
from torchdevlint.flow.facts.tensors import BatchNotMoved
from torchdevlint.flow.kinds.encoded import FROM_TOKENIZER
from torchdevlint.flow.kinds.loaders import FROM_DATA
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.devices import MODEL, on_cpu
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import tensors_in
from torchdevlint.flow.state.values import Names, Tensor
from torchdevlint.flow.vouch.bound import Scope
from torchdevlint.flow.vouch.devices import Meeting
from torchdevlint.flow.vouch.names import assignable
from torchdevlint.model import Span
from torchdevlint.source.nodes import inside, is_inside, nodes_in

_MAKERS = {FROM_DATA: "data set", FROM_TOKENIZER: "tokenizer"}
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return)


def record(
    frame: Frame,
    state: State,
    node: ast.AST,
    operation: str,
    stayed: tuple[ast.expr, Tensor],
    other: tuple[ast.expr, Tensor],
    described: Operand,
) -> None:
    """Report the batch where the loop that took it from the loader, or what it calls first, gives it away.

    In another file, that is the call in this one that leads there, if the loader is seen to be one: what goes by the
    name alone may bring its batches to where the model is.
    """
    if "init" in (frame.context, frame.entry.kind) and other[1].device == MODEL:
        return  # nobody has moved the model yet
    machine, met, meeting = frame.machine, frame, Meeting(frame, state, node, other[0], other[1].device)
    held, operated = state.env, node
    steps = stayed[1].steps
    loaded, taken = (steps[0].node, steps[-1].node) if steps else (node, node)
    while frame.called_at is not None and frame.context == "forward":
        node, frame = frame.called_at

    if _gives_pictures(frame, node):
        return
    led, beside = led_by(frame, node), _moved_beside(met, held, stayed[1])
    if led is not None and beside is None and _is_named_alone(frame, loaded):
        return
    if is_moved_where_told(met, operated, stayed[1]):
        return
    witness = Witness() if beside is not None else witness_of(met, stayed[1], other[1])
    if witness is None:
        return
    fed_alone = is_fed_alone(met, state, operated, other[0])

    def make() -> BatchNotMoved:
        own = led is None and frame is met and meeting.reads(stayed[0])
        return BatchNotMoved(
            machine.span_of(node if led is None else led[0]),
            operation,
            machine.text_of(stayed[0]),
            machine.span_of(taken),
            described,
            _MAKERS.get(steps[0].text, "loader") if steps else "loader",
            machine.span_of(stayed[0]) if own else None,
            meeting.device_named() if own else None,
            isinstance(loaded, ast.Name) and isinstance(stayed[0], ast.Name) and loaded.id == stayed[0].id,
            _statement_before(frame, stayed[0]) if own else None,
            beside,
            led_by="" if led is None else machine.text_of(led[0]),
            met_at=None if led is None else machine.span_of(node),
            shown=None if witness.at is None else (witness.text, witness.at),
            weak=witness.is_weak,
            fed_alone=fed_alone,
            loop_at=machine.span_of(loaded) if met.depth and loaded is not taken else None,
        )

    machine.record(("batch", loaded), make, state)


def _gives_pictures(frame: Frame, node: ast.AST) -> bool:
    """Whether what a call gives holds pictures, as of a pipeline of diffusers, which takes texts: `images`."""
    read = nodes_in(frame.function or frame.machine.tree, ast.Attribute) if isinstance(node, ast.Call) else ()
    return any(each.value is node and each.attr == "images" for each in read)


def _is_named_alone(frame: Frame, loaded: ast.AST) -> bool:
    """Whether a loop of another file goes over what nothing but its name says to be a loader."""
    machine = frame.machine
    loader = machine.loaders.get(loaded)
    return bool(machine.span_of(loaded).file) and (loader is None or loader.made_at is None)


def _moved_beside(frame: Frame, held: Names, stayed: Tensor) -> tuple[str, Span] | None:
    """A name that holds another part of the batch, and the move that brought it to an accelerator."""
    for name, value in held.items():
        for tensor in tensors_in(value):
            if tensor.moved and not on_cpu(tensor.device) and tensor.steps[1:] and tensor.steps[0] in stayed.steps[:1]:
                move = tensor.steps[-1].node
                part = move.func.value if isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute) else move
                what = name if value is tensor else frame.machine.text_of(part)
                return what, frame.machine.span_of(move)
    return None


def _statement_before(frame: Frame, node: ast.expr) -> Span | None:
    """The statement that reads a name, if something reads it later too, and another statement can stand before it."""
    scope: Scope = frame.function or frame.machine.tree
    if not isinstance(node, ast.Name) or frame.machine.reading.is_elsewhere:
        return None
    statement = next((each for each in inside(scope) if isinstance(each, _SIMPLE) and is_inside(node, each)), None)
    if statement is None or not assignable(frame, node.id, statement):
        return None
    end = statement.end_lineno or statement.lineno
    span = frame.machine.span_of(statement)
    alone = not frame.machine.reading.source.lines[span.row - 1][: span.column - 1].strip(" ")
    later = any(line > end and not bound for line, bound, _ in bindings_in(scope)[node.id])
    return span if alone and later else None
