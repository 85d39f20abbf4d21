"""Places that name CUDA, or one GPU by its number, whatever machine the code runs on (TDL501, TDL502).

What names CUDA is collected once for a file; the run says whether a path comes there, and under which tests.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.events import Called, FileStarted, Placed
from torchdevlint.flow.facts.portability import NamedCuda
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import assignments_by_path
from torchdevlint.flow.scope.handled_errors import WITHOUT_CUDA, may_catch
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, public_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.scope.unconditional import straight
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Ref
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, assignments_in, inside, nodes_in, once_a_node

_CUDA = regex(r"cuda(?::(\d{1,3}))?")
_PLACES = frozenset({"device", "map_location", "device_map"})
_SETS_CURRENT = ("torch.cuda.set_device", "torch.cuda.device")
_ASKS = regex(r"cuda|gpu|device|accelerator|available|hip|backend|[xn]pu|mps", re.IGNORECASE)
_COUNTS = regex(r"device_count|gpu_?count|gpus|n_gpu|num_?gpu|ngpu|multi|world_size", re.IGNORECASE)
_KERNELS = regex(
    r"^(?:triton|cupy|pycuda|numba\.cuda|tensorrt|torch_tensorrt|flash_attn|pynvml|megatron)\b|(?<!torch\.)cuda"
)
"""Imports of files that are for CUDA alone: languages for its kernels, and extensions with its name."""

Named = tuple[ast.AST, str, int | None, str]
"""The node to report, its text, the number of the GPU, and the form, as in the fact."""


def concerns(machine: Machine) -> bool:
    return NamedCuda.__name__ in machine.wanted


@once_a_node
def _naming(tree: ast.Module) -> frozenset[ast.Call]:
    """The calls that name CUDA, but for those that stand where another choice is written beside them."""
    if imports_kernels(tree):
        return frozenset()
    left_alone = set(_with_another_choice(tree))
    return frozenset(call for call in nodes_in(tree, ast.Call) if call not in left_alone and _may_name(call))


@once_a_node
def imports_kernels(tree: ast.Module) -> bool:
    """Whether a file imports what is for CUDA alone."""
    return any(_KERNELS.search(name) for name in _imported(tree))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in nodes_in(tree, ast.Import):
        yield from (each.name for each in node.names)
    for source in nodes_in(tree, ast.ImportFrom):
        yield source.module or ""
        yield from (each.name for each in source.names if not (source.module or "").startswith("torch"))


def _with_another_choice(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls that are one side of a choice, that may fail, that are compared, or that callers can replace."""
    for choice in nodes_in(tree, ast.IfExp):
        if any(isinstance(each, ast.Constant) and each.value == "cpu" for each in inside(choice)):
            yield from nodes_in(choice, ast.Call)
    for part in nodes_in(tree, ast.Try):
        if may_catch(part, WITHOUT_CUDA):
            yield from (call for statement in part.body for call in nodes_in(statement, ast.Call))
    for kind in (ast.Compare, ast.arguments, ast.Assert):
        for each in nodes_in(tree, kind):
            yield from nodes_in(each, ast.Call)
    for keyword in nodes_in(tree, ast.keyword):
        if keyword.arg == "default":
            yield from (each for each in inside(keyword.value) if isinstance(each, ast.Call))


def _note_call(event: Called) -> None:
    """A call that names CUDA is reached."""
    frame, state, node = event.frame, event.state, event.node
    if node not in _naming(frame.machine.tree):
        return
    callee = frame.evaluate(node.func, state)
    for named in _named(node, callee.name if isinstance(callee, Ref) else ""):
        _record(frame, state, named)


def _note_placed(event: Placed) -> None:
    """A move to CUDA, or a creation there, by a name: that is bound once, to a text that names it."""
    frame, state, node, device = event.frame, event.state, event.node, event.device
    if not isinstance(node, ast.Call) or device.origin is not Origin.LITERAL or device.name != "cuda":
        return
    if frame.machine.in_child or node in _naming(frame.machine.tree):
        return
    for given in (*node.args[:1], *(each.value for each in node.keywords if each.arg in _PLACES)):
        path = dotted_path(given) if isinstance(given, (ast.Name, ast.Attribute)) else None
        bound = _bound_to(frame, path) if path is not None else None
        match = _text_of_cuda(bound) if bound is not None else None
        if bound is not None and match is not None:
            _record(frame, state, (bound, f'"{match[0]}"', _number(match), "device"))


def _bound_to(frame: Frame, path: str) -> ast.expr | None:
    """What the only assignment to a name, or to an attribute of `self`, binds it to."""
    tree = frame.machine.tree
    scopes: list[ast.AST | None] = [frame.function, tree]
    if path.startswith("self.") and frame.owner is not None:
        scopes = [frame.owner.node]
    for scope in scopes:
        if scope is None:
            continue
        found = assignments_by_path(scope).get(path)
        if found:
            return found[0].value if len(found) == 1 else None
    return None


def keys_of(node: ast.AST) -> Iterator[tuple[object, ...]]:
    """The keys under which other facts are recorded about a node that names CUDA."""
    yield ("named", node)
    yield ("moved", node)
    if isinstance(node, ast.Call):
        yield from (("named", each) for each in arguments_of(node))


def _record(frame: Frame, state: State, named: Named) -> None:
    at, text, number, form = named
    numbered = bool(number)
    if _is_for_cuda(frame) or (_spreads(frame.machine.tree) if numbered else state.guarded):
        return
    asked = _COUNTS if numbered else _ASKS
    if any(asked.search(key) for key, _ in state.conditions) or _checks_first(frame, asked) or _asked(frame, at, asked):
        return
    machine = frame.machine
    chosen = _chosen(machine.tree, at)
    machine.record(
        ("named", at),
        lambda: NamedCuda(
            machine.span_of(at),
            text,
            number,
            form,
            None if chosen is None else machine.span_of(chosen),
            spelled(machine.tree, "torch"),
        ),
        state,
    )


@once_a_node
def _assigned(tree: ast.Module) -> frozenset[ast.expr]:
    return frozenset(each.value for each in assignments_in(tree))


def _chosen(tree: ast.Module, at: ast.AST) -> ast.expr | None:
    """The text of a device that a name is bound to: ``device = torch.device("cuda")``, ``place = "cuda"``."""
    if at not in _assigned(tree):
        return None
    named = at.args[0] if isinstance(at, ast.Call) and len(at.args) == 1 and not at.keywords else at
    return named if isinstance(named, ast.Constant) and isinstance(named.value, str) else None


def _is_for_cuda(frame: Frame) -> bool:
    """Whether the function or its class is for CUDA alone, by its name or by a decorator."""
    owner = frame.owner.node if frame.owner is not None else None
    for each in (frame.function, owner):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = each.name.lower()
            if mentions_cuda(name) or name in ("to", "_apply"):
                return True
            if any(mentions_cuda(frame.machine.text_of(one)) for one in each.decorator_list):
                return True
    return False


def _checks_first(frame: Frame, asked: re.Pattern[str]) -> bool:
    """Whether the function, or the script around it, ends or refuses to start on other machines."""
    for scope in (frame.function, frame.machine.tree):
        if scope is not None and any(asked.search(frame.machine.text_of(test)) for test in _refusals(scope)):
            return True
    return False


@once_a_node
def _refusals(scope: ast.AST) -> list[ast.expr]:
    """The tests by which a function or a script goes on at all."""
    body = getattr(scope, "body", None)
    return [
        each.test
        for each in straight(body if isinstance(body, list) else ())
        if isinstance(each, ast.Assert)
        or (isinstance(each, ast.If) and isinstance(each.body[-1], (ast.Raise, ast.Return)))
    ]


def _asked(frame: Frame, node: ast.AST, asked: re.Pattern[str]) -> bool:
    """Whether the place is in an arm of a test that asks, though the outcome is known on this path."""
    scope = frame.function or frame.machine.tree
    line: int = node.lineno  # type: ignore[attr-defined]
    tests: list[ast.If | ast.IfExp] = [] if scope is None else [*nodes_in(scope, ast.If), *nodes_in(scope, ast.IfExp)]
    return any(
        each.lineno <= line <= (each.end_lineno or 0) and asked.search(frame.machine.text_of(each.test))
        for each in tests
    )


@once_a_node
def _spreads(tree: ast.Module) -> bool:
    """Whether the file names several GPUs: then it is written for as many."""
    texts = {each.value for call in _naming(tree) for each in nodes_in(call, ast.Constant)}
    matches = (_CUDA.fullmatch(each) for each in texts if isinstance(each, str))
    return len({match[1] for match in matches if match is not None and match[1]}) > 1


def _may_name(call: ast.Call) -> bool:
    """Whether a call has the form of one that names CUDA."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name == "cuda" or name in torch_api.LEGACY_CONSTRUCTORS:
        return True
    given = arguments_of(call)
    if name in ("set_device", "device"):
        return any(isinstance(each, ast.Constant) for each in given)
    return any(_text_of_cuda(each) is not None for each in given) or (name == "type" and bool(call.args))


def _named(call: ast.Call, callee: str) -> list[Named]:
    """The places in a call that name CUDA; `callee` is the public name of what is called, if it is a library's."""
    head, _, tail = callee.rpartition(".")
    if head == "torch.cuda":
        number = _ordinal(call.args[0]) if call.args else None
        if callee in _SETS_CURRENT:
            return [(call, f"{callee}({number})", number, "current")] if number else []
        return [(call.func, callee, None, "device")] if tail in torch_api.LEGACY_CONSTRUCTORS else []
    if callee == "torch.device":
        match = _text_of_cuda(call.args[0]) if call.args else None
        if match is None or not all(isinstance(each, ast.Constant) for each in call.args) or call.keywords:
            return []
        number = _ordinal(call.args[1]) if len(call.args) == 2 else _number(match)
        return [(call, f"torch.device({', '.join(map(ast.unparse, call.args))})", number, "device")]
    method = call.func.attr if isinstance(call.func, ast.Attribute) and not callee else ""
    if method == "cuda":
        return _moved_by_cuda(call)
    if method == "type" and call.args:
        legacy = _legacy(call.args[0])
        return [] if legacy is None else [(call.args[0], legacy, None, "device")]
    found = [each.value for each in call.keywords if each.arg in _PLACES]
    if method == "to" or callee == "torch.set_default_device":
        found += call.args[:1]
    loads = torch_api.LOADERS.get(callee)
    if loads is not None:
        found += call.args[loads : loads + 1]
    form = "device" if loads is None else "load"
    matches = [(each, _text_of_cuda(each)) for each in found]
    return [(each, f'"{match[0]}"', _number(match), form) for each, match in matches if match is not None]


def _moved_by_cuda(call: ast.Call) -> list[Named]:
    given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "device")]
    if not given:
        return [(call, ".cuda()", None, "move")]
    number, match = _ordinal(given[0]), _text_of_cuda(given[0])
    if number is None and match is None:
        return []
    return [(call, f".cuda({ast.unparse(given[0])})", number if match is None else _number(match), "move")]


def _legacy(node: ast.expr) -> str | None:
    path = node.value if isinstance(node, ast.Constant) else public_path(node)
    return path if isinstance(path, str) and path.startswith("torch.cuda.") and path.endswith("Tensor") else None


def _text_of_cuda(node: ast.expr) -> re.Match[str] | None:
    return _CUDA.fullmatch(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _ordinal(node: ast.expr) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(match: re.Match[str] | None) -> int | None:
    return int(match[1]) if match is not None and match[1] else None


def _begin(event: FileStarted) -> None:
    if concerns(event.machine):
        event.machine.observe(Called, _note_call)
        event.machine.observe(Placed, _note_placed)


EVENTS = {FileStarted: _begin}
