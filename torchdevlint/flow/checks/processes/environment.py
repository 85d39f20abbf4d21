"""``CUDA_VISIBLE_DEVICES``: what reads it, and assignments that come too late or cannot work."""

from __future__ import annotations

import ast
import re

from msgspec.structs import replace

from torchdevlint.flow.checks.processes import children
from torchdevlint.flow.checks.processes.reordering import moved_before
from torchdevlint.flow.events import Augmented, Entered, ItemAssigned, Placed
from torchdevlint.flow.facts.devices import LateVisibleDevices, MalformedVisibleDevices
from torchdevlint.flow.kinds.options import as_parsed
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.call_sites import is_called_before
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.flow.scope.same_each_time import is_same_each_time
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import is_number
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import UNKNOWN, Const, Map, Ref, Seq, Value
from torchdevlint.model import Span
from torchdevlint.source.nodes import inside, nodes_in, once_a_node, own_nodes_in

_NVML_CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
_COUNT = "torch.cuda.device_count"
_COUNTED = "device_count"
_OF_A_DEVICE_TYPE = ("torch.autocast", "torch.amp.autocast", "torch.amp.GradScaler")
_SETTERS = {"os.environ.setdefault": 2, "os.putenv": 2, "os.environ.__setitem__": 2}
_TORCH_COUNT_FREEZES = ("2.0", "2.1", "2.2", "2.3")
_SAYING = frozenset("print info debug warning log write".split())
_SIMILAR = 0.9
_STARTERS = (
    "spawn",
    "Process",
    "Popen",
    "start_processes",
    "check_call",
    "check_output",
    "os.system",
    "subprocess.run",
    "subprocess.call",
    "ProcessPoolExecutor",
)


class _InTime:
    """What has set the variable in time: the same, in a later round or once more by another line, changes nothing."""

    def __init__(self) -> None:
        self.nodes: set[ast.AST] = set()
        self.values: list[Value] = []


def _note_touch(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A library call that reads the visible devices."""
    effect = _effect(frame, name, arguments)
    if effect is not None:
        touch(frame, state, node, f"{name}()", effect)


def _note_entered(event: Entered) -> None:
    """``with torch.cuda.device(1)``: entering it initialises CUDA."""
    if event.name in torch_api.CONTEXTS_OF_CUDA:
        touch(event.frame, event.state, event.node, f"with {event.name}()", "initialises")


def _note_union(event: Augmented) -> None:
    """``os.environ |= {name: value}``."""
    frame, state, node = event.frame, event.state, event.node
    if isinstance(node.op, ast.BitOr) and _is_environ(frame, node.target, state):
        _check_items(frame, state, node, node.value, event.value)


def _effect(frame: Frame, name: str, arguments: Arguments) -> str | None:
    if arguments.value(2, "enabled") == Const(False):
        return None
    if name in torch_api.FREEZES_VISIBLE_DEVICES:
        nvml = (
            name in ("torch.cuda.is_available", "torch.accelerator.is_available") and _NVML_CHECK in frame.machine.words
        )
        return None if nvml else "freezes"
    if name in torch_api.INITIALISES_CUDA:
        return "initialises"
    if name in _OF_A_DEVICE_TYPE:
        return "freezes" if arguments.value(0, "device_type") == Const("cuda") else None
    target = frame.machine.settings.target_torch or ""
    return "freezes" if target.startswith(_TORCH_COUNT_FREEZES) else None


def _note_placed(event: Placed) -> None:
    """A move to, or creation on, a device that is literally CUDA initialises it."""
    frame, device = event.frame, event.device
    if frame.machine.in_child:
        touches = children.needs_accelerator(frame, device)
    else:
        touches = device.origin is Origin.LITERAL and device.name == "cuda" and event.state.touched_before is None
    if touches:
        touch(frame, event.state, event.node, frame.machine.text_of(event.node), "initialises")


def touch(frame: Frame, state: State, node: ast.AST, text: str, effect: str) -> None:
    if frame.machine.in_child and (effect != "initialises" or children.depends_on_configuration(state)):
        return
    if state.touched_before is None and not state.without_accelerator:
        state.touched = Touch(node, text, effect, conditions=state.conditions)


def _note_item(event: ItemAssigned) -> None:
    """``os.environ[name] = value``."""
    frame, state, target = event.frame, event.state, event.node
    if _is_environ(frame, target.value, state):
        name = frame.evaluate(target.slice, state)
        _check(frame, state, target, name, event.value, event.value_node, target.slice)


def _is_environ(frame: Frame, node: ast.expr, state: State) -> bool:
    return (dotted_path(node) or "").endswith("environ") and frame.evaluate(node, state) == Ref("os.environ")


def _set_by_call(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    """``os.environ.setdefault(name, value)`` and its kin."""
    given = arguments.values
    if len(given) < 2 or arguments.starred:
        return
    if len(given) > _SETTERS[name] and _is_visible_devices(given[0]):
        found = ", ".join(frame.machine.text_of(each) for each, _ in arguments.positional)
        values = ",".join(str(value.value) for value in given[1:] if isinstance(value, Const))
        written = f'"{values}"'
        known = len(node.args) == values.count(",") + 2 and not node.keywords
        place = _around(frame, node.args[1], node.args[-1]) if known else None
        _malformed(frame, node, "arguments", found, f'"{torch_api.VISIBLE_DEVICES}", {written}', place, written)
        return
    nodes = [each for each, _ in arguments.positional]
    _check(frame, state, node, given[0], given[1], nodes[1], nodes[0])


def _around(frame: Frame, first: ast.AST, last: ast.AST) -> Span:
    start, end = frame.machine.span_of(first), frame.machine.span_of(last)
    return replace(start, end_row=end.end_row, end_column=end.end_column)


def _update(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    """``os.environ.update({name: value})``."""
    keywords = {each.arg: each for each in node.keywords}
    for key, (value_node, value) in arguments.keywords.items():
        _check(frame, state, node, Const(key), value, value_node, keywords.get(key))
    for given, value in arguments.positional:
        _check_items(frame, state, node, given, value)


def _check_items(frame: Frame, state: State, node: ast.AST, given: ast.expr, value: Value) -> None:
    if not isinstance(value, Map):
        return
    literal = zip(given.keys, given.values, strict=True) if isinstance(given, ast.Dict) else ()
    nodes = {key.value: (each, key) for key, each in literal if isinstance(key, ast.Constant)}
    for key, each in value.items:
        _check(frame, state, node, Const(key), each, *nodes.get(key, (None, None)))


def _check(
    frame: Frame,
    state: State,
    node: ast.AST,
    name: Value,
    value: Value,
    value_node: ast.expr | None = None,
    name_node: ast.expr | ast.keyword | None = None,
) -> None:
    """An assignment at `node`; `value_node` and `name_node` are where its two sides are written, if that is known."""
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return
    if not _is_visible_devices(name):
        if _is_misspelt(name.value):
            late = state.touched_before is not None  # the right name would come too late, and be told for that
            place, written = (None, "") if late else _respelt(frame, name_node, name.value)
            _malformed(frame, node, "name", name.value, torch_api.VISIBLE_DEVICES, place, written)
        return
    value = as_parsed(frame, value_node, value)
    if is_number(value) or isinstance(value, Seq) or (isinstance(value, Const) and not isinstance(value.value, str)):
        found = str(value.value) if isinstance(value, Const) else "a list" if isinstance(value, Seq) else "a number"
        place = None if value_node is None else frame.machine.span_of(value_node)
        written = "" if value_node is None else _as_text(frame, value_node, value)
        suggestion = f'"{found}"' if isinstance(value, Const) else "str(..)"
        _malformed(frame, node, "value", found, suggestion, place, written)
        return
    touched, in_time = state.touched_before, frame.machine.memory(_InTime)
    if touched is None:
        in_time.nodes.add(node)
        in_time.values.append(UNKNOWN if state.conditions else value)
        return
    tree, function = frame.machine.tree, frame.function
    set_before = node in in_time.nodes and is_same_each_time(tree, function, value_node)
    if isinstance(value, Const) and in_time.values:
        set_before = set_before or all(each == value for each in in_time.values)
    if state.without_accelerator or set_before:
        return
    if not isinstance(function, _FUNCTIONS) or not is_called_before(tree, function, touched.node):
        _late(frame, touched, node, value)


def _is_relied_on(tree: ast.Module, name: str) -> bool:
    """Whether the file reads the variable by its wrong name, or names a GPU that the right one may hide."""
    given = {id(each.slice) for each in nodes_in(tree, ast.Subscript) if isinstance(each.ctx, ast.Store)}
    calls = (each for each in nodes_in(tree, ast.Call) if public_path(each.func) in _SETTERS)
    given.update(id(each.args[0]) for each in calls if each.args)
    given.update(id(key) for each in nodes_in(tree, ast.Dict) for key in each.keys)
    texts = [each for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str)]
    if any(each.value == name and id(each) not in given for each in texts):
        return True
    return any(re.fullmatch(r"cuda:0*[1-9]\d*", str(each.value)) for each in texts)


def _respelt(frame: Frame, node: ast.expr | ast.keyword | None, name: str) -> tuple[Span | None, str]:
    """Where a name is written out, and what to write there."""
    right = torch_api.VISIBLE_DEVICES
    if isinstance(node, ast.keyword):
        place = frame.machine.span_of(node)
        return replace(place, end_row=place.row, end_column=place.column + len(name)), right
    text = "" if node is None else frame.machine.text_of(node)
    if node is None or text[1:-1] != name or _is_relied_on(frame.machine.tree, name):
        return None, ""
    return frame.machine.span_of(node), f"{text[0]}{right}{text[-1]}"


def _as_text(frame: Frame, node: ast.expr, value: Value) -> str:
    """The expression that makes text of a number, or of a list of them; empty where nothing does surely."""
    text = frame.machine.text_of(node)
    if isinstance(value, Const) and (isinstance(value.value, bool) or not isinstance(value.value, int)):
        return ""
    if not isinstance(value, Seq):
        return f"str({text})" if dotted_path(node) or isinstance(node, ast.Call) else f'"{text}"'
    if not isinstance(node, (ast.List, ast.Tuple)):
        return f'",".join(map(str, {text}))' if dotted_path(node) else ""
    each_value = [each.value for each in node.elts if isinstance(each, ast.Constant)]
    return f'"{",".join(map(str, each_value))}"' if len(each_value) == len(node.elts) else ""


def _late(frame: Frame, cause: Touch, node: ast.AST, value: Value) -> None:
    machine = frame.machine
    if _starts_processes(frame, node):
        return
    machine.record_anyway(
        ("late", node),
        lambda: LateVisibleDevices(
            machine.span_of(node),
            machine.text_of(node),
            cause.text,
            machine.span_of(cause.node),
            cause.effect,
            cause.inside,
            moved_before(frame, node, cause.node),
            value == Const("0") and not _counts_gpus(machine.tree),
        ),
    )


@once_a_node
def _counts_gpus(tree: ast.Module) -> bool:
    """Whether a file asks how many GPUs there are, for more than to say so: ``print(torch.cuda.device_count())``."""
    said = {
        id(part)
        for each in nodes_in(tree, ast.Expr)
        if isinstance(each.value, ast.Call) and last_name(each.value.func) in _SAYING
        for part in inside(each.value)
    }
    asked = (each for each in nodes_in(tree, ast.Attribute) if each.attr == _COUNTED)
    named = (each for each in nodes_in(tree, ast.Name) if each.id == _COUNTED)
    return any(id(each) not in said for each in (*asked, *named))


def _starts_processes(frame: Frame, node: ast.AST) -> bool:
    """Whether processes are started after `node`, or after a call that comes to it: they read the variable anew."""
    scope, tree = frame.function or frame.machine.tree, frame.machine.tree
    return scope is not None and _starts_after(tree, scope, getattr(node, "lineno", 0), _MOST_CALLERS)


def _starts_after(tree: ast.Module, scope: ast.AST, line: int, hops: int) -> bool:
    if _last_start(scope) > line:
        return True
    if not hops or not isinstance(scope, _FUNCTIONS):
        return False
    callers = (tree, *(each for kind in _FUNCTIONS for each in nodes_in(tree, kind)))
    return any(
        _starts_after(tree, caller, call.lineno - 1, hops - 1)
        for caller in callers
        for call in own_nodes_in(caller, ast.Call)
        if caller is not scope and last_name(call.func) == scope.name
    )


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_CALLERS = 3


@once_a_node
def _last_start(scope: ast.AST) -> int:
    """The last line on which processes are started; 0 if none are."""
    calls = nodes_in(scope, ast.Call)
    starts = (each.lineno for each in calls if (dotted_path(each.func) or "").endswith(_STARTERS))
    return max(starts, default=0)


def _malformed(
    frame: Frame, node: ast.AST, problem: str, found: str, suggestion: str, given_at: Span | None, written: str
) -> None:
    machine = frame.machine
    machine.record_anyway(
        ("malformed", node),
        lambda: MalformedVisibleDevices(machine.span_of(node), problem, found, suggestion, given_at, written),
    )


def _is_visible_devices(name: Value) -> bool:
    return name == Const(torch_api.VISIBLE_DEVICES)


def _is_misspelt(name: str) -> bool:
    """Whether a name is so close to the variable's that nothing else can be meant."""
    right = torch_api.VISIBLE_DEVICES
    if name.upper() == right:
        return True
    if abs(len(name) - len(right)) > 2 or name.upper()[:3] != "CUD":
        return False
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name.upper().strip(), right).ratio() >= _SIMILAR


FUNCTIONS = {
    **dict.fromkeys(
        (*torch_api.FREEZES_VISIBLE_DEVICES, *torch_api.INITIALISES_CUDA, *_OF_A_DEVICE_TYPE, _COUNT), _note_touch
    ),
    **dict.fromkeys(_SETTERS, _set_by_call),
    "os.environ.update": _update,
}
EVENTS = {
    Entered: _note_entered,
    Augmented: _note_union,
    Placed: _note_placed,
    ItemAssigned: _note_item,
}
