"""Running a function of the file with abstract arguments."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from torchdevlint.flow.devices import TOP, on_cpu
from torchdevlint.flow.joins import choose, join_all, settle
from torchdevlint.flow.machine import MAX_DEPTH, Frame, FunctionNode, Outcome, State, Touch, bring_up_to_date
from torchdevlint.flow.values import NONE, UNKNOWN, Func, Map, Seq, Tensor, Value


def run_function(
    frame: Frame,
    state: State,
    node: ast.AST,
    function: Func,
    arguments: Sequence[Value],
    keywords: Mapping[str, Value],
) -> Value:
    """What calling `function` here gives; its body is run, and what it says of devices is recorded.

    Beyond a depth and a number of calls, for recursion, and under decorators that are not known, it is UNKNOWN.
    """
    machine = frame.machine
    if function.receiver is not None:
        arguments = (function.receiver, *arguments)
    if frame.depth >= MAX_DEPTH or machine.calls_left <= 0 or function.node in machine.active:
        return UNKNOWN
    if frame.names:
        bring_up_to_date(frame, state)
    shared = _shared_paths(frame, state, arguments)
    signature = (
        function.node,
        tuple(arguments),
        tuple(keywords.items()),
        tuple(shared.items()),
        frame.context,
        state.without_accelerator,
        state.touched is not None,
        machine.muted > 0,
    )
    outcome = machine.memo.get(signature)
    if outcome is None:
        machine.entered.add(function.node)
        if frame.context == "forward":
            machine.reached.add(function.node)
        activation = Frame(
            machine=machine,
            entry=frame.entry,
            closure=function.closure,
            scope=function.qualname,
            function=function.node,
            owner=function.owner,
            receiver=arguments[0] if arguments else None,
            depth=frame.depth + 1,
            called_at=(node, frame),
            without_accelerator=state.without_accelerator,
            context=_context(function, frame.context),
        )
        inner = State({}, shared, touched=state.touched, default_device=state.default_device)
        inner.without_accelerator = state.without_accelerator
        bind_parameters(activation, function.node, arguments, keywords, inner)
        _observe(activation, inner)
        value = run_body(activation, inner)
        outcome = Outcome(value if function.plain else UNKNOWN, *_effects(activation, inner))
        machine.memo[signature] = outcome
    state.touched = state.touched or outcome.touched
    if outcome.paths is not None and _is_on_self(frame, arguments):
        state.paths.update(outcome.paths)
    return settle(outcome.value, state.conditions)


def _observe(activation: Frame, state: State) -> None:
    """Remember the parameters of calls that give tensors of the CPU, or made of what may be numbers, and no others.

    What a script does when it is run, such as a trial on random numbers, says nothing of other users.
    """
    function, observed = activation.function, activation.machine.observed
    if function is None or activation.entry.kind == "module":
        return
    given = {name: value for name, value in state.env.items() if isinstance(value, Tensor)}
    here = all(on_cpu(value.device) or _is_just_made(value) for value in given.values())
    for name in given:
        observed[function, name] = observed.get((function, name), True) and here


def _is_just_made(tensor: Tensor) -> bool:
    return tensor.device == TOP and bool(tensor.steps) and tensor.steps[0].created and not tensor.moved


def _context(function: Func, around: str) -> str:
    """``forward`` and ``init`` in these methods of a Module and in what they call, else the caller's."""
    if function.owner is None or not function.owner.is_module:
        return around
    return {"forward": "forward", "__init__": "init"}.get(function.qualname.rpartition(".")[2], around)


def _is_on_self(frame: Frame, arguments: Sequence[Value]) -> bool:
    """Whether a method is called on the object whose method the caller is."""
    return bool(arguments) and frame.receiver is not None and arguments[0] is frame.receiver


def _shared_paths(frame: Frame, state: State, arguments: Sequence[Value]) -> dict[str, Value]:
    """What this path knows of ``self.x``, which a method called on the same `self` sees and changes."""
    if not state.paths or not _is_on_self(frame, arguments):
        return {}
    return {path: value for path, value in state.paths.items() if path.startswith("self.")}


def _effects(activation: Frame, state: State) -> tuple[Touch | None, dict[str, Value] | None]:
    """What the call leaves behind: a touch of CUDA on any of its paths, and what it wrote to `self`."""
    ends = [*activation.exits, *([state] if state.alive else [])]
    if not ends:
        return None, None
    touched = next((end.touched for end in ends if end.touched is not None), None)
    paths: dict[str, Value] = {}
    for path in {path: None for end in ends for path in end.paths if path.startswith("self.")}:
        paths[path] = join_all([end.paths.get(path, UNKNOWN) for end in ends])
    return touched, paths or None


def run_body(activation: Frame, state: State) -> Value:
    """Run the body of `activation.function` and give what it returns."""
    machine, function = activation.machine, activation.function
    machine.calls_left -= 1
    machine.activations += 1
    activation.activation = machine.activations
    activation.tensor_names = tuple(
        name for name, value in state.env.items() if isinstance(value, Tensor) and not value.creations
    )
    assert function is not None
    machine.active.append(function)
    try:
        if isinstance(function, ast.Lambda):
            return activation.evaluate(function.body, state)
        machine.execute(activation, function.body, state)
    finally:
        machine.active.pop()
    if activation.yields:
        return Seq(None, join_all(activation.yields))
    return returned(activation, state)


def returned(activation: Frame, state: State) -> Value:
    """The join of what was returned, each under the conditions of its path."""
    results = list(activation.returns)
    if state.alive and not results:
        return NONE
    if state.alive:
        results.append((state.conditions, NONE))
    return choose(results)


def bind_parameters(
    activation: Frame, node: FunctionNode, arguments: Sequence[Value], keywords: Mapping[str, Value], state: State
) -> None:
    """Put the arguments of a call under the names of the parameters; what was not given has its default."""
    spec = node.args
    names = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    env = state.env
    for name, value in zip(names, arguments, strict=False):
        env[name] = value
    if spec.vararg is not None:
        env[spec.vararg.arg] = Seq(tuple(arguments[len(names) :]), join_all(list(arguments[len(names) :])))
    rest: dict[str, Value] = {}
    known = {*names, *(each.arg for each in spec.kwonlyargs)}
    for name, value in keywords.items():
        if name in known:
            env[name] = value
        else:
            rest[name] = value
    if spec.kwarg is not None:
        env[spec.kwarg.arg] = Map(tuple(rest.items()), UNKNOWN)
    for name, default in defaults(node):
        if name not in env:
            env[name] = UNKNOWN if default is None else default_value(activation, default)
    for name in known:
        env.setdefault(name, UNKNOWN)


def defaults(node: FunctionNode) -> list[tuple[str, ast.expr | None]]:
    """Each parameter that has a default, with it."""
    spec = node.args
    positional = [each.arg for each in (*spec.posonlyargs, *spec.args)]
    pairs: list[tuple[str, ast.expr | None]] = []
    if spec.defaults:
        pairs += list(zip(positional[-len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(each.arg, default) for each, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    return pairs


def default_value(activation: Frame, node: ast.expr) -> Value:
    """A default is evaluated where the function was defined; only what needs no local name is looked at."""
    outer = Frame(activation.machine, activation.entry, activation.closure, activation.scope, depth=activation.depth)
    return outer.evaluate(node, State({}))
