"""Running a function of the file with abstract arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce

from msgspec.structs import replace

from torchdevlint.flow.run.binding import bind_parameters
from torchdevlint.flow.run.closures import keep_around, kept_around
from torchdevlint.flow.run.decorated import as_handed_on
from torchdevlint.flow.run.observing import as_left, observe
from torchdevlint.flow.run.relevance import is_entered, is_in_vain, widened
from torchdevlint.flow.scope.fallbacks import gives_an_argument
from torchdevlint.flow.scope.names import defaults, positional_names
from torchdevlint.flow.scope.uses import bindings_in, stored_into
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, TOP
from torchdevlint.flow.state.entries import Outcome
from torchdevlint.flow.state.joins import alternatives, choose, is_module, join_all, settle
from torchdevlint.flow.state.limits import MANY_RUNS, MAX_DEPTH
from torchdevlint.flow.state.machine import Frame, bring_up_to_date
from torchdevlint.flow.state.others import is_elsewhere, is_worth_running, owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch, seen_by_caller
from torchdevlint.flow.state.values import (
    NONE,
    UNKNOWN,
    Dev,
    Func,
    Map,
    Record,
    Seq,
    Step,
    Tensor,
    Value,
    nesting_of,
)
from torchdevlint.flow.state.with_accelerator import with_accelerator
from torchdevlint.source.functions import AnyFunction


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
    every = (*arguments, *keywords.values())
    if is_in_vain(frame, node, function, every) or is_entered(frame, state, node, function, every):
        return UNKNOWN
    arguments, keywords = as_left(frame, node, *as_handed_on(frame, function, arguments, keywords))
    if function.receiver is not None:
        arguments = (function.receiver, *arguments)
    if frame.depth >= MAX_DEPTH or not machine.may_run(function):
        return UNKNOWN
    if not is_worth_running(function):
        _observe_only(frame, node, function, arguments, keywords)
        return UNKNOWN
    nesting = max(map(nesting_of, arguments), default=0)
    if function.node in machine.active and not _goes_inside(frame, function, nesting):
        return UNKNOWN
    if frame.names:
        bring_up_to_date(frame, state)
    shared = _shared_paths(frame, state, arguments)
    without = state.without_accelerator or machine.is_without_accelerator(state.conditions)
    touched = state.touched_before
    given, named = tuple(arguments), tuple(keywords.items())
    if machine.runs.get(function.node, 0) >= MANY_RUNS:
        given, named = tuple(map(widened, given)), tuple((name, widened(value)) for name, value in named)
    signature = (
        function.node,
        given,
        named,
        _seen_around(function),
        tuple(shared.items()),
        frame.context,
        without,
        touched is not None,
        machine.muted > 0,
        machine.unseen > 0,
        machine.in_child,
    )
    outcome = machine.memo.get(signature)
    if outcome is None:
        machine.runs[function.node] = machine.runs.get(function.node, 0) + 1
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
            nesting=nesting,
            without_accelerator=without,
            context=_context(function, frame.context),
            given=given,
        )
        inner = State({}, shared, touched=touched, default_device=state.default_device)
        inner.without_accelerator = without
        bind_parameters(activation, function.node, given, dict(named), inner)
        observe(activation, inner)
        value = run_body(activation, inner)
        changed = tuple(_changed(activation, inner, function.node, given, dict(named)))
        around = tuple(kept_around([*activation.exits, *([inner] if inner.alive else [])]).items())
        outcome = Outcome(value if function.plain else UNKNOWN, *_effects(activation, inner), changed, around)
        machine.memo[signature] = outcome
    for place, value in outcome.changed:
        _write_back(state, keywords[place] if isinstance(place, str) else arguments[place], value)
    keep_around(frame, function, outcome.around, state)
    state.touched = touched or seen_by_caller(outcome.touched, state.conditions)
    if outcome.paths is not None and _is_on_self(frame, arguments):
        for path, value in outcome.paths.items():
            state.bind(path, value)
    value = settle(outcome.value, state.conditions)
    if not is_elsewhere(function) or gives_an_argument(function.node):
        return value
    decided = _is_decided_by_caller(value, (*given, *dict(named).values()))
    return _shown_here(frame, node, function, value if decided else _where_all_agree(value))


def _seen_around(function: Func) -> tuple[tuple[str, Value], ...]:
    """What a nested function reads of the functions around it, which hold something else in each of their calls."""
    scopes = function.closure.scopes
    around = [each for each in scopes[:-1] if each is not scopes[-1]]  # a file that is imported stands there twice
    if not around:
        return ()
    read = bindings_in(function.node)
    return tuple([(name, scope[name]) for scope in around for name in read if name in scope])


def _is_decided_by_caller(value: Value, given: Iterable[Value]) -> bool:
    """Whether tests that its caller made are all by which the things differ that a function gives: it makes one thing
    of each that an argument may be.
    """
    held = [set(conditions) for conditions, _ in alternatives(value)]
    if len(held) < 2:
        return False
    made = {key for each in given for conditions, _ in alternatives(each) for key, _ in conditions}
    always = set.intersection(*held)
    return all(key in made for each in held for key, _ in each - always)


def _shown_here(frame: Frame, node: ast.AST, function: Func, value: Value) -> Value:
    """What another file made on the default device; the call that brought it is a place in this file to look at."""
    made = type(value) is Tensor and value.device == DEFAULT and bool(value.creations)
    if not made or owner_of(frame.closure) is not None:
        return value
    assert isinstance(value, Tensor)
    return replace(value, steps=(*value.steps, Step(f"given by `{function.qualname}`", node)))


def _where_all_agree(value: Value) -> Value:
    """What a function of another file gives: unknown where it is, or names, one of several places: it decides."""
    held = [each for _, each in alternatives(value)]
    if len(held) > 1 and any(isinstance(each, Dev) for each in held):
        return UNKNOWN
    places = {each.device for each in held if isinstance(each, Tensor)}
    if len(places) < 2:
        return value
    return Tensor(TOP) if all(isinstance(each, Tensor) for each in held) else UNKNOWN


def _goes_inside(frame: Frame, function: Func, nesting: int) -> bool:
    """Whether a function that calls itself gives itself less nested containers than it was given."""
    around: Frame | None = frame
    while around is not None and around.function is not function.node:
        around = around.called_at[1] if around.called_at is not None else None
    return around is not None and nesting < around.nesting


def _observe_only(
    frame: Frame, node: ast.AST, function: Func, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> None:
    """What a call gives a function that is not run, where nothing but that is asked for."""
    if not frame.machine.wanted:
        activation = Frame(
            frame.machine, frame.entry, function.closure, function.qualname, function.node, called_at=(node, frame)
        )
        inner = State({})
        bind_parameters(activation, function.node, arguments, keywords, inner)
        observe(activation, inner)


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


def _changed(
    activation: Frame, state: State, node: AnyFunction, arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> Iterator[tuple[int | str, Value]]:
    """The containers among the arguments that the function wrote to, and the Modules that it moved, as left by it."""
    names = positional_names(node)
    places: list[tuple[int | str, str, Value]] = [
        (place, name, value) for place, (name, value) in enumerate(zip(names, arguments, strict=False))
    ]
    places += [(name, name, value) for name, value in keywords.items() if name in names]
    containers = [each for each in places if _can_change(each[2])]
    if not containers or isinstance(node, ast.Lambda):
        return
    ends = [*activation.exits, *([state] if state.alive else [])]
    bound = bindings_in(node)
    for place, name, value in containers:
        held = [end.env.get(name, UNKNOWN) for end in ends]
        if all(each is value for each in held):
            continue
        if not any(binds for _, binds, _ in bound.get(name, ())):
            yield place, join_all(held)
        elif name in stored_into(node):
            yield place, UNKNOWN


def _can_change(value: Value) -> bool:
    return type(value) in _CONTAINERS or is_module(value) or (type(value) is Tensor and value.opaque)


_CONTAINERS = frozenset({Map, Seq, Record})


def _write_back(state: State, given: Value, value: Value) -> None:
    """What a container holds that a call wrote to, under the name that it has here; under several, nobody knows."""
    held = [(table, name) for table in (state.env, state.paths) for name, each in table.items() if each is given]
    for table, name in held:
        table[name] = value if len(held) == 1 else UNKNOWN


def run_body(activation: Frame, state: State) -> Value:
    """Run the body of `activation.function` and give what it returns."""
    machine, function = activation.machine, activation.function
    if owner_of(activation.closure) is None:
        machine.calls_left -= 1
    elif isinstance(function, ast.FunctionDef) and gives_an_argument(function):
        machine.statements_elsewhere_left += len(function.body)  # a test and two names cost nothing
    else:
        machine.calls_elsewhere_left -= 1
    machine.activations += 1
    activation.activation = machine.activations
    if owner_of(activation.closure) is not None:
        machine.activations_elsewhere.add(str(activation.activation))
    activation.tensor_names = tuple(
        name for name, value in state.env.items() if type(value) is Tensor and not value.creations
    )
    assert function is not None
    machine.active.append(function)
    around = machine.reading.enter(activation.closure)
    try:
        if isinstance(function, ast.Lambda):
            return activation.evaluate(function.body, state)
        machine.execute(activation, function.body, state)
    finally:
        machine.reading.leave(around)
        machine.active.pop()
        _close(activation, state)
    if activation.yields:
        return Seq(None, join_all(activation.yields))
    return returned(activation, state)


def _close(activation: Frame, state: State) -> None:
    """Functions that were defined in it see its names as it leaves them; what has changed since then is unknown."""
    names = activation.names
    if not names or activation.function is None:
        return
    for end in (*activation.exits, state):
        for name, value in end.env.items():
            if name not in names:
                names[name] = value
            elif names[name] is not value and names[name] != value:
                names[name] = UNKNOWN


def returned(activation: Frame, state: State) -> Value:
    """The join of what was returned, each under the conditions of its path."""
    results = list(activation.returns)
    if state.alive:
        results.append((state.conditions if results else (), NONE))
    return reduce(with_accelerator, activation.returns_otherwise, choose(results))


def spread(function: Func, arguments: Arguments) -> tuple[list[Value], dict[str, Value]] | None:
    """The arguments of a call as those of `function`, which says how many a star stands for; None if it does not.

    Under the names ``*`` and ``**`` stand what may be given besides.
    """
    spec = function.node.args
    values, keywords = arguments.values, arguments.keyword_values
    names = positional_names(function.node)[function.receiver is not None :]
    if arguments.starred:
        place = arguments.star_at
        if place is None:
            return None
        element, behind = values[place], values[place + 1 :]
        count = len([name for name in names if name not in keywords]) - place - len(behind)
        if spec.vararg is not None:
            if behind or count > 0:
                return None
            keywords["*"] = element
        elif count < 0 or len(spec.defaults) > 0 or arguments.double_starred:
            return None
        values = [*values[:place], *([element] * max(count, 0)), *behind]
    if arguments.double_starred:
        missing = [each.arg for each in spec.kwonlyargs] + names[len(values) :]
        by_default = {name for name, _ in defaults(function.node)}
        element = arguments.rest[1] if arguments.rest is not None else UNKNOWN
        for name in missing:
            keywords.setdefault(name, UNKNOWN if name in by_default else element)
        keywords["**"] = element
    return values, keywords
