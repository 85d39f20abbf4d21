"""Models that are made here, that nothing moves, and that are called with what may be on an accelerator (TDL004).

That is what was moved there, and an argument of the function, which is where its callers have it.

Where a model is made in another function, may be given to something that moves it, or moves itself, nobody knows.
"""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.models.left_by_others import names_left
from torchdevlint.flow.checks.models.left_in_place import optimized_at_once, stays
from torchdevlint.flow.checks.models.own_tensors import has_parameters, meets_own
from torchdevlint.flow.events import LayerCalled, MethodCalled, Mixed, ModuleCalled
from torchdevlint.flow.kinds.managed_batches import moves_batches
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.run.modules import where_made
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.run.tensor_methods import tensor_operands
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, mentions_cuda, mentions_device, parameter_names, positional_names
from torchdevlint.flow.scope.switches import outcome_without
from torchdevlint.flow.scope.uses import Scope, asked_in, bindings_in
from torchdevlint.flow.state.devices import DEFAULT, TOP, VALUELESS_TYPES, Origin, literal, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    Choice,
    Const,
    Library,
    Number,
    Obj,
    Ref,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, inside, is_below, nodes_in, once_a_node

_PLACES = frozenset({"is_cuda", "parameters", "device"})
"""What tells where a tensor or a Module is."""


def _note_call(event: ModuleCalled) -> None:
    """``teacher(x)``, where `x` was moved and `teacher` was not."""
    frame, state, node, module = event.frame, event.state, event.node, event.module
    if module.device != DEFAULT or frame.context == "forward":
        return
    at_once = isinstance(node.func, ast.Call) and module.made_at is node.func
    path = dotted_path(node.func) or ""
    if not (at_once or path) or not tells_of_models(frame, state):
        return
    prepares = isinstance(module, Library) and libraries.holds_tensors(module.name)  # data, which is on the CPU
    is_there = _is_elsewhere if (at_once or "." not in path) and not prepares else was_moved
    operands = [each for pair in event.arguments.pairs for each in tensor_operands(*pair)]
    if isinstance(module, Library) and module.name.startswith("torch."):
        operands = [(at, _as_taken(at, value)) for at, value in operands]
    operands = [each for each in operands if is_there(each[1])] + _moved_by_switch(frame, operands, state)
    moved = [each for each in operands if not follows_parameters(frame, each[1])]
    own = has_parameters(frame, module) or _is_optimized(frame, path)
    if not moved or not (own or (isinstance(module, Obj) and meets_own(frame, module))):
        return
    if at_once or stays(frame, path) or _is_left_by_others(frame, path, module):
        meet(frame, state, node, node.func, where_made(module), moved[0])


def tells_of_models(frame: Frame, state: State) -> bool:
    """Whether a model that nothing moves is on the CPU at this point, and its batches are where the code puts them."""
    return not state.guarded and state.default_device is None and not moves_batches(frame)


def _is_left_by_others(frame: Frame, path: str, module: Library | Obj) -> bool:
    """Whether a name holds a model that nothing moves, nor does any function that gets it: ``evaluate(net, data)``."""
    scope = frame.function or frame.machine.tree
    return "." not in path and path in names_left(frame, scope, set(), isinstance(module, Obj))


def _moved_by_switch(frame: Frame, operands: Operands, state: State) -> Operands:
    """What is moved where a switch of the program says so, as that: ``if args.cuda: x = x.cuda()``."""
    choices = [(at, value) for at, value in operands if isinstance(value, Choice)]
    arms = [(at, each) for at, value in choices for _, each in alternatives(value, state.conditions)]
    moved = [(at, each) for at, each in arms if was_moved(each)]
    return [(at, each) for at, each in moved if all(_is_switch(frame, test) for test in _tests_of(frame, each))]


def _is_switch(frame: Frame, test: ast.expr) -> bool:
    return outcome_without(frame.machine.tree, test) is not None and not _is_never_on(frame, test)


def _is_never_on(frame: Frame, test: ast.expr) -> bool:
    """Whether it is an attribute that the class only ever switches off."""
    bound = _bound_in_class(frame, test)
    return bool(bound) and all(isinstance(each, ast.Constant) and not each.value for each in bound)


def _tests_of(frame: Frame, value: Value) -> list[ast.expr]:
    """The tests around the last step of a value, in its function."""
    if not isinstance(value, Tensor) or not value.steps:
        return []
    moved, scope = value.steps[-1].node, frame.function or frame.machine.tree
    branches: list[ast.If | ast.IfExp] = [*nodes_in(scope, ast.If), *nodes_in(scope, ast.IfExp)]
    around = (each.test for each in branches if is_below(moved, each))
    return [test for test in around if test is not moved and not is_below(moved, test)]


def _is_where_it_was_asked(frame: Frame, value: Value) -> bool:
    """Whether it was moved if a Module or tensor is on an accelerator: ``if next(net.parameters()).is_cuda: ...``."""
    return any(_asks_for_place(frame, each) for each in _tests_of(frame, value))


def _asks_for_place(frame: Frame, test: ast.expr) -> bool:
    methods = frame.owner.methods if frame.owner is not None else {}
    asking = [test, *_bound_in_class(frame, test), *(methods[each] for each in _read_of_self(test) if each in methods)]
    return any(isinstance(each, ast.Attribute) and each.attr in _PLACES for one in asking for each in inside(one))


def _bound_in_class(frame: Frame, test: ast.expr) -> list[ast.expr]:
    """What the class binds the attributes to that a test reads, such as ``self.on_gpu``."""
    bound = [values_by_path(info.node) for info in frame.owner.mro] if frame.owner is not None else []
    return [each for name in _read_of_self(test) for one in bound for each in one.get(f"self.{name}", ())]


def _read_of_self(test: ast.expr) -> list[str]:
    """The attributes of the object that a test reads: `place` in ``self.place.type == "cuda"``."""
    read = (dotted_path(each) or "" for each in inside(test) if isinstance(each, ast.Attribute))
    return [path.removeprefix("self.") for path in read if path.startswith("self.") and path.count(".") == 1]


def _as_taken(node: ast.expr, value: Value) -> Value:
    """What a layer of torch takes: a tensor, if it came as an argument of which nothing else is known."""
    place = value.given if isinstance(value, Unknown) else None
    return value if place is None or place.origin is not Origin.ARGUMENT else given_tensor(place, node)


def _note_method(event: MethodCalled) -> None:
    """``old.act(x)``, a method that brings `x` to layers or buffers of a model that was not moved, where `x` was."""
    frame, state, node, module = event.frame, event.state, event.node, event.receiver
    if type(module) is not Obj or module.device != DEFAULT or frame.context == "forward":
        return
    if not isinstance(node.func, ast.Attribute) or not tells_of_models(frame, state):
        return
    name, path = node.func.attr, dotted_path(node.func.value) or ""
    found = module.info.all_methods.get(name)
    if found is None or not path or not stays(frame, path, of_known_class=True):
        return
    fed = _fed_to_layers(found[1]) if has_parameters(frame, module) or _is_optimized(frame, path) else frozenset()
    given = zip(positional_names(found[1])[1:], event.arguments.positional, strict=False)
    pairs = [
        (each, one) for each, pair in (*given, *event.arguments.keywords.items()) for one in tensor_operands(*pair)
    ]
    moved = [(each, one) for each, one in pairs if was_moved(one[1]) and not follows_parameters(frame, one[1])]
    for each, one in moved:
        if each in fed or meets_own(frame, module, method=name, names=frozenset({each})):
            meet(frame, state, node, node.func.value, where_made(module), one)
            return


def _is_optimized(frame: Frame, path: str) -> bool:
    """Whether it is an attribute whose parameters the constructor gives to an optimizer, so that it has some."""
    root, _, name = path.partition(".")
    return root == "self" and frame.owner is not None and name in optimized_at_once(frame.owner.node)


def follows_parameters(frame: Frame, value: Value) -> bool:
    """Whether it was moved to where parameters are, or only where they are on an accelerator."""
    return _is_where_parameters_are(frame, value) or _is_where_it_was_asked(frame, value)


def _is_where_parameters_are(frame: Frame, value: Value) -> bool:
    """Whether it was sent to an attribute which asks parameters where they are: ``next(model.parameters()).device``."""
    if not isinstance(value, Tensor) or value.device.origin is not Origin.EXPRESSION or frame.owner is None:
        return False
    bound = (values_by_path(info.node).get(value.device.name, ()) for info in frame.owner.mro)
    return any(each.attr == "parameters" for values in bound for one in values for each in nodes_in(one, ast.Attribute))


def meet(
    frame: Frame, state: State, node: ast.Call, model: ast.expr, steps: tuple[Step, ...], moved: tuple[ast.expr, Value]
) -> None:
    """The parameters of a model that stayed on the CPU meet what was moved, in the call of `node`."""
    parameters = Tensor(DEFAULT, AT_LEAST_1, (), steps)
    operation = f"`{frame.machine.text_of(node.func)}()`"
    frame.machine.emit(Mixed(frame, state, node, operation, (model, parameters), moved))  # type: ignore[arg-type]


@once_a_node
def _fed_to_layers(method: FunctionNode) -> frozenset[str]:
    """The parameters that a method gives, as they came, to attributes of `self` that it calls, or to `self`."""
    names = {name for name, places in bindings_in(method).items() if any(bound for _, bound, _ in places)}
    calls = [(call, dotted_path(call.func) or "") for call in nodes_in(method, ast.Call)]
    fed = [each for call, path in calls if path.startswith("self.") for each in call.args[:1]]
    fed += [each for call, path in calls if path == "self" for each in call.args]
    given = {each.id for each in fed if isinstance(each, ast.Name)}
    return frozenset(given & parameter_names(method)) - names


def _note_unknown(event: LayerCalled) -> None:
    """``target(x)``, which was copied of a model before that was moved to where `x` is, or made like one that was."""
    frame, state, node = event.frame, event.state, event.node
    path, machine = dotted_path(event.layer) or "", frame.machine
    if not path or state.guarded or frame.context == "forward" or moves_batches(frame):
        return
    moved = [each for each in event.operands if was_moved(each[1])] + _moved_by_switch(frame, event.operands, state)
    if not moved or not stays(frame, path):
        return
    copied, twin = _copied(frame, path), _made_like(frame, path)
    step = None
    if copied is not None:
        step = Step(f"made of `{machine.text_of(copied[1])}` before that was moved", copied[0], of_module=True)
    elif twin is not None:
        step = Step(f"made here, as what `{machine.text_of(twin[1])}` moves", twin[0], of_module=True)
    elif (made := _made_of_numbers(frame, state, path)) is not None:
        step = Step("made here", made, of_module=True)
    if step is not None:
        meet(frame, state, node, event.layer, (step,), moved[0])


def _copied(frame: Frame, path: str) -> tuple[ast.Call, ast.expr] | None:
    """``copy.deepcopy(net)`` or ``type(net)()`` that a name is bound to, if lines behind it move `net`; and `net`."""
    scope, made = _bound_to(frame, path)
    if scope is None or made is None:
        return None
    inner = made.func if isinstance(made.func, ast.Call) else made
    callee = frame.evaluate(inner.func, State({}))
    of_type = isinstance(made.func, ast.Call)
    if callee != Ref("builtins.type" if of_type else "copy.deepcopy") or not inner.args:
        return None
    source = dotted_path(inner.args[0])
    moves = [
        each.lineno
        for each in nodes_in(scope, ast.Call)
        if isinstance(each.func, ast.Attribute)
        and each.func.attr in torch_api.PLACING_METHODS
        and source is not None
        and dotted_path(each.func.value) == source
    ]
    return (made, inner.args[0]) if moves and min(moves) > made.lineno else None


def _bound_to(frame: Frame, path: str) -> tuple[Scope | None, ast.Call | None]:
    """The scope that binds a name or attribute, and the one call that it is bound to there."""
    if "." in path and frame.owner is not None:
        scope: Scope | None = frame.owner.methods.get("__init__")
    else:
        scope = frame.function or frame.machine.tree
    bound = values_by_path(scope).get(path, []) if scope is not None else []
    made = bound[0] if len(bound) == 1 else None
    return scope, made if isinstance(made, ast.Call) else None


def _made_like(frame: Frame, path: str) -> tuple[ast.Call, ast.Call] | None:
    """``teacher = Net()`` beside ``student = Net().to(device)``: the call, and the move of the other one.

    The class is in another file. That its other model is moved here says that it does not move itself.
    """
    scope, made = _bound_to(frame, path)
    maker = dotted_path(made.func) if made is not None else None
    if scope is None or made is None or maker is None:
        return None
    asked = asked_in(frame.owner.node if "." in path and frame.owner is not None else scope).get(path, set())
    if asked.isdisjoint(torch_api.MODULE_ONLY_ATTRIBUTES):
        return None
    same = {name for name, values in values_by_path(scope).items() if name != path and _makes(values, maker)}
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in torch_api.PLACING_METHODS:
            receiver = call.func.value
            if dotted_path(receiver) in same or _makes([receiver], maker):
                return made, call
    return None


def _made_of_numbers(frame: Frame, state: State, path: str) -> ast.Call | None:
    """``net = Net(10)``, by a class that is not known, which nothing tells of a device; and the code trains `net`."""
    scope, made = _bound_to(frame, path)
    if scope is None or made is None or "." in path or not tells_of_models(frame, state):
        return None
    callee = frame.evaluate(made.func, state)
    name = callee.name if isinstance(callee, Ref) else "torch."
    if name.startswith("torch.") or not name.rpartition(".")[2].lstrip("_")[:1].isupper():
        return None
    if asked_in(scope).get(path, set()).isdisjoint(torch_api.MODULE_ONLY_ATTRIBUTES):
        return None
    if any(mentions_device(each.arg or "device") or mentions_cuda(each.arg or "") for each in made.keywords):
        return None
    given = [frame.evaluate(each, state) for each in arguments_of(made)]
    plain = all(isinstance(each, (Const, Number)) for each in given)
    return made if plain and not any(_names_place(each) for each in given) else None


def _names_place(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, str) and literal(value.value) != TOP


def _makes(values: list[ast.expr], maker: str) -> bool:
    return len(values) == 1 and isinstance(values[0], ast.Call) and dotted_path(values[0].func) == maker


def was_moved(value: Value) -> bool:
    """Whether it is a tensor that the code around has put on an accelerator."""
    return _is_elsewhere(value) and isinstance(value, Tensor) and value.device.origin is not Origin.ARGUMENT


def _is_elsewhere(value: Value) -> bool:
    """Whether it is a tensor that the code around has put on an accelerator, or that came as an argument."""
    if not isinstance(value, Tensor) or on_cpu(value.device) or value.ndim == 0:
        return False
    if value.device.origin is Origin.LITERAL:
        return value.device.name not in VALUELESS_TYPES
    if value.device.origin is Origin.ARGUMENT:
        return True
    return value.device.origin is Origin.EXPRESSION and (value.moved or _is_of_module(value))


def _is_of_module(value: Tensor) -> bool:
    """Whether a module gave it, which the code around has put there then."""
    return bool(value.steps) and value.steps[0].of_module


SAYING = ("cuda", "device", ".to(")
EVENTS = {ModuleCalled: _note_call, MethodCalled: _note_method, LayerCalled: _note_unknown}
