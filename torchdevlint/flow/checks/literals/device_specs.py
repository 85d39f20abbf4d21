"""What is given for a device and is none: strings that torch cannot read, context managers, tuples, unbound names."""

from __future__ import annotations

import ast
import re
from functools import partial

from torchdevlint.flow.checks.literals.device_texts import STRING, Problem, begun, of_text, spliced
from torchdevlint.flow.facts.devices import InvalidDevice
from torchdevlint.flow.kinds.converted import is_list_by_text
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import names_a_device
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.spelling import spelled
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import CPU, DEFAULT, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives, is_number
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Const, Dev, Library, Obj, Ref, Seq, Tensor, Value
from torchdevlint.flow.vouch.names import is_read_otherwise
from torchdevlint.source.nodes import is_below, nodes_in, once_a_node

CONTEXT = "torch.cuda.device"
_WANT_THE_NUMBER = frozenset({"torch.cuda.set_device", CONTEXT})
_TAKE_NAMES_ONLY = frozenset({"torch.load", "torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"})
_TAKES_ANY_STRING = "rename_privateuse1_backend"


def _function(
    place: tuple[int, str] | None, frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value
) -> None:
    found = arguments.keywords.get("device") if place is None else arguments.get(*place)
    if found is not None:
        _look(frame, state, node, name, *found)
    if name == "torch.device":
        index = arguments.get(1, "index")
        if index is not None and _is_negative(index[1]) and not state.tried:
            _record(frame, node, index[0], name, ("index", frame.machine.text_of(index[0]), ""))


def _legacy(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    """``torch.LongTensor(data, device=device)``: these constructors take the CPU only."""
    given = arguments.keywords.get("device")
    if given is None or frame.machine.default_changed:
        return
    held = [value for _, value in alternatives(given[1], state.conditions)]
    if not any(_is_elsewhere(value) for value in held) or any(_is_on_cpu(value) for value in held):
        return
    machine, tail = frame.machine, name.rpartition(".")[2]
    dtype = torch_api.LEGACY_DTYPES[tail]
    module = dotted_path(node.func.value) if isinstance(node.func, ast.Attribute) else None
    of_data = len(node.args) == 1 and bool(module) and is_list_by_text(node.args[0])
    made = partial(
        InvalidDevice,
        machine.span_of(given[0]),
        "legacy",
        machine.text_of(given[0]),
        name,
        dtype,
        None,
        f"{module}.tensor" if of_data else "",
        machine.span_of(node.func),
    )
    machine.record(("invalid device", given[0]), made, state)


def _is_elsewhere(value: Value) -> bool:
    if isinstance(value, Dev):
        return value.device not in (TOP, CPU, DEFAULT)
    if isinstance(value, Ref):
        return names_a_device(value)
    return isinstance(value, Const) and isinstance(value.value, (int, str)) and not _is_on_cpu(value)


def _is_on_cpu(value: Value) -> bool:
    """Whether it is literally the CPU, or where a tensor of the CPU is."""
    if isinstance(value, Dev):
        return value.device in (CPU, DEFAULT)
    return isinstance(value, Const) and isinstance(value.value, str) and value.value.startswith("cpu")


def _method(
    keyword_only: bool, frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments
) -> None:
    assert isinstance(node.func, ast.Attribute)
    given = arguments.keywords.get("device") if keyword_only else arguments.get(0, "device")
    if given is not None:
        name = f".{node.func.attr}"
        _look(frame, state, node, name, *given, is_torch=_takes_devices(receiver, node.func.attr))


def _takes_devices(receiver: Value, method: str) -> bool:
    """Whether the method is torch's own: of a tensor, or of a module whose class brings none of its own."""
    if isinstance(receiver, Tensor):
        return not receiver.opaque
    if isinstance(receiver, Library):
        return receiver.module and bool(receiver.name)
    if not isinstance(receiver, Obj) or not receiver.info.is_module:
        return False
    return receiver.info.resolved and method not in receiver.info.all_methods


def _look(
    frame: Frame, state: State, call: ast.Call, name: str, node: ast.expr, value: Value, is_torch: bool = True
) -> None:
    """Record what is wrong with `node`, which is given for a device; `is_torch`: it surely is taken for one."""
    machine = frame.machine
    if isinstance(node, ast.Name) and _is_unbound(frame, node.id):
        _record(frame, call, node, name, ("name", node.id, '"cuda"' if node.id == "gpu" else f'"{node.id}"'))
        return
    if is_torch and isinstance(node, ast.IfExp):
        for arm in (node.body, node.orelse):
            found = _of_value(name, Const(arm.value)) if isinstance(arm, ast.Constant) else None
            if found is not None and _TAKES_ANY_STRING not in machine.words and not _is_handled(state, found):
                _record(frame, call, arm, name, found)
                return
    if name == "torch.cuda.set_device" and lacks_number(frame, node, value):
        _record(frame, call, _written(frame, node), name, ("unnumbered", machine.text_of(node), ""))
        return
    held = spliced(frame, state, node) or [each for _, each in alternatives(value, state.conditions)]
    problems = [_of_value(name, each) for each in held if not _is_own_default(node, each)]
    if problems == [None]:
        problems = [begun(_written(frame, node), machine.text_of)]
    first = problems[0] if problems else None
    if first is None or None in problems or _TAKES_ANY_STRING in machine.words or _is_handled(state, first):
        return
    sure = first[0] in ("context", "tuple") and not _holds_text(held[0])
    if not sure and (not is_torch or _is_asked_about(state, node)):
        return
    if first[0] == "context":
        _record_context(frame, call, name, held[0])
    else:
        _record(frame, call, _written(frame, node), name, first)


def _is_handled(state: State, problem: Problem) -> bool:
    """Whether torch raises a RuntimeError for it, which the program waits for."""
    return state.tried and problem[0] in ("type", "string", "index")


def _of_value(name: str, value: Value) -> Problem | None:
    """What is wrong with a value, if something surely is."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return of_text(value.value)
    numeric = is_number(value) or (isinstance(value, Dev) and value.number)
    if name in _TAKE_NAMES_ONLY and numeric and not _is_flag(value):
        return "number", str(value.value) if isinstance(value, Const) else "a number", ""
    if _is_negative(value) and name not in _WANT_THE_NUMBER:
        return "index", str(value.value), ""  # type: ignore[attr-defined]
    if isinstance(value, Library) and value.name == CONTEXT and name not in _WANT_THE_NUMBER:
        return "context", "", ""
    if isinstance(value, Seq) and value.items is not None and len(value.items) == 1:
        item = value.items[0]
        named = isinstance(item, Const) and isinstance(item.value, str) and STRING.fullmatch(item.value)
        return ("tuple", "", "") if isinstance(item, Dev) or named else None
    return None


def _holds_text(value: Value) -> bool:
    return isinstance(value, Seq) and any(isinstance(each, Const) for each in value.items or ())


def lacks_number(frame: Frame, node: ast.expr, value: Value) -> bool:
    """Whether a device is surely ``cuda`` without a number, which `torch.cuda.set_device` refuses."""
    if value == Const("cuda"):
        return True
    written = _written(frame, node)
    whole = isinstance(written, ast.Call) and len(written.args) == 1 and not written.keywords
    return whole and isinstance(value, Dev) and not value.number and value.device == Device(Origin.LITERAL, "cuda")


def _is_own_default(node: ast.expr, value: Value) -> bool:
    """Whether a name holds what was given under it, beside a default that the function brings if that is None."""
    return isinstance(value, Dev) and value.device == Device(Origin.EXPRESSION, dotted_path(node) or "")


def _is_negative(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, int) and not _is_flag(value) and value.value < 0


def _is_flag(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, bool)


def _is_asked_about(state: State, node: ast.expr) -> bool:
    """Whether a test on the path speaks of the name that is given: it may know better what the name holds."""
    path = dotted_path(node)
    if path is None:
        return False
    name = re.compile(rf"\b{re.escape(path.rpartition('.')[2])}\b")
    return any(name.search(key) for key, _ in state.conditions)


def _written(frame: Frame, node: ast.expr) -> ast.expr:
    """Where the value of a name or attribute is written, if one assignment of the function, class or file does so."""
    path = dotted_path(node)
    if path is None:
        return node
    owner = frame.owner.node if frame.owner is not None else None
    for scope in (frame.function, owner, frame.machine.tree):
        if scope is None:
            continue
        values = values_by_path(scope).get(path, ())
        if values:
            return values[0] if len(values) == 1 else node
    return node


def _record(frame: Frame, call: ast.Call, node: ast.expr, name: str, problem: Problem) -> None:
    machine = frame.machine
    if problem[0] == "tuple":
        inside = node.elts[0] if isinstance(node, ast.Tuple) and len(node.elts) == 1 else node
        text = machine.text_of(inside)
        problem = ("tuple", machine.text_of(node), text if inside is not node else f"{text}[0]")
    used_at = None if is_below(node, call) else machine.span_of(call)
    written = _rewritten(node, machine.text_of(node), problem)
    machine.record_anyway(
        ("invalid device", node),
        lambda: InvalidDevice(
            machine.span_of(node),
            *(problem[0], problem[1], name, problem[2], used_at, written),
            read=used_at is not None and is_read_otherwise(machine.tree, node),
        ),
    )


def _rewritten(node: ast.expr, text: str, problem: Problem) -> str:
    """What to write for a whole expression; a literal keeps its quotes."""
    kind, _, suggestion = problem
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and text[1:-1] == node.value and suggestion:
        return f"{text[0]}{suggestion[1:-1]}{text[-1]}"
    if (kind == "tuple" and isinstance(node, ast.Tuple)) or kind == "name":
        return suggestion
    if kind == "type" and text.partition(f"{problem[1]}:")[0] == suggestion.partition("cuda:")[0]:
        return suggestion
    if kind == "number" and isinstance(node, ast.Constant):
        return f'"cuda:{text}"'
    return f'f"cuda:{{{text}}}"' if kind == "number" and dotted_path(node) and '"' not in text else ""


def _record_context(frame: Frame, call: ast.Call, name: str, context: Value) -> None:
    assert isinstance(context, Library)
    assert isinstance(context.made_at, ast.Call)
    machine, made_at = frame.machine, context.made_at
    given = machine.text_of(made_at.args[0]) if len(made_at.args) == 1 else ""
    device = spelled(machine.tree, "torch.device")
    text = (device or "torch.device") + (f'("cuda:{given}")' if given.isdecimal() else f"({given})")
    written = text if given and device is not None else ""
    machine.record_anyway(
        ("invalid device", made_at),
        lambda: InvalidDevice(
            machine.span_of(made_at), "context", machine.text_of(made_at), name, text, machine.span_of(call), written
        ),
    )


def _is_unbound(frame: Frame, name: str) -> bool:
    """Whether a name that reads like a device type is bound nowhere in the file."""
    tree = frame.machine.tree
    if tree is None or name not in ("cpu", "cuda", "gpu", "mps", "xpu"):
        return False
    bound = _bound_in(tree)
    return bound is not None and name not in bound


@once_a_node
def _bound_in(tree: ast.Module) -> frozenset[str] | None:
    """The names that a file binds somewhere; None if it can bind any, by a star import or at run time."""
    imported = nodes_in(tree, ast.alias)
    read = {each.id for each in nodes_in(tree, ast.Name) if isinstance(each.ctx, ast.Load)}
    if any(each.name == "*" for each in imported) or read & {"globals", "exec", "eval", "vars", "locals"}:
        return None
    names = {each.id for each in nodes_in(tree, ast.Name) if not isinstance(each.ctx, ast.Load)}
    names.update((each.asname or each.name).partition(".")[0] for each in imported)
    names.update(each.arg for each in nodes_in(tree, ast.arg))
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        names.update(each.name for each in nodes_in(tree, kind))  # type: ignore[attr-defined]
    return frozenset(names)


_FACTORIES = torch_api.NAMESPACED_FACTORIES | {
    f"torch.{name}" for name in torch_api.FACTORIES | torch_api.LIKE_FACTORIES
}
_MODULES = frozenset(f"torch.nn.{name}" for name in torch_api.PARAMETER_MODULES)
FUNCTIONS = {
    **{name: partial(_function, None) for name in sorted(_FACTORIES | _MODULES)},
    **{name: partial(_function, place) for name, place in torch_api.DEVICE_ARGUMENTS.items()},
    **{f"torch.{name}": _legacy for name in sorted(torch_api.LEGACY_CONSTRUCTORS)},
}
METHODS = {
    "to": partial(_method, False),
    "cuda": partial(_method, False),
    **{name: partial(_method, True) for name in sorted(torch_api.NEW_METHODS - {"new"})},
}
