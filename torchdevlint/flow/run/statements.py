"""Transfer functions of statements."""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchdevlint.flow.events import Augmented, Branched, Discarded, Escaped, Looped, Returned
from torchdevlint.flow.kinds import loaders, moved_batches, wrappers
from torchdevlint.flow.kinds.placed_loads import places_load
from torchdevlint.flow.run import appended, contexts, operations
from torchdevlint.flow.run.agreement import refuse_apart
from torchdevlint.flow.run.assignment import assign, forget_paths
from torchdevlint.flow.run.branches import arms, asked_tensor, merge_states, note_asked, outcome_of
from torchdevlint.flow.run.definitions import define_class, define_function
from torchdevlint.flow.run.imports import import_modules, import_names
from torchdevlint.flow.run.loop_items import start_of_round
from torchdevlint.flow.run.operand_kinds import told_by_other
from torchdevlint.flow.run.patterns import captured
from torchdevlint.flow.run.rounds import ends_with
from torchdevlint.flow.scope.counted_loops import first_round_counter
from torchdevlint.flow.scope.first_use import filled_at_first_use
from torchdevlint.flow.scope.handled_errors import handles_refusal, suppresses_refusal
from torchdevlint.flow.scope.loop_rounds import Loop
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.joins import concatenated, element_of, is_number, join
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, NUMBER, UNKNOWN, Const, Guard, Ref, Seq, Tensor, Value
from torchdevlint.flow.state.with_accelerator import with_accelerator

_MAX_REPEATED_LOOPS = 3
_NEVER_RETURN = frozenset(
    {"sys.exit", "os._exit", "os.abort", "builtins.exit", "builtins.quit", "pytest.exit", "pytest.fail", "pytest.skip"}
)
_ENDINGS = frozenset(name.rpartition(".")[2] for name in _NEVER_RETURN)


def execute(frame: Frame, body: list[ast.stmt], state: State) -> None:
    """Run statements in order until the path ends; `state` is changed in place."""
    if frame.machine.reading.is_elsewhere:
        frame.machine.statements_elsewhere_left -= len(body)
    transfers = frame.machine.transfers
    for number, statement in enumerate(body, start=1):
        if not state.alive:
            return
        if isinstance(statement, ast.If):
            frame.following = body[number:]
        transfer = transfers.get(type(statement))
        if transfer is not None:
            transfer(frame, statement, state)


def _expression(frame: Frame, node: ast.Expr, state: State) -> None:
    if isinstance(node.value, ast.Constant):
        return
    moved_batches.forget_if_in_place(frame, node.value, state)
    frame.machine.emit(Discarded(frame, state, node))
    frame.machine.discarded = node.value
    frame.evaluate(node.value, state)
    if isinstance(node.value, ast.Call):
        moved_batches.forget_if_sent(frame, node.value, state)
        if _never_returns(frame, node.value.func, state):
            state.alive = False


def _never_returns(frame: Frame, called: ast.expr, state: State) -> bool:
    """Whether a call of it ends the path: ``sys.exit()``, ``pytest.skip()``."""
    if (dotted_path(called) or "").rpartition(".")[2] not in _ENDINGS:
        return False
    value = frame.evaluate(called, state)
    return isinstance(value, Ref) and value.name in _NEVER_RETURN


def _assign(frame: Frame, node: ast.Assign, state: State) -> None:
    value = frame.evaluate(node.value, state)
    for target in node.targets:
        assign(frame, target, value, state, node.value)


def _annotated(frame: Frame, node: ast.AnnAssign, state: State) -> None:
    if node.value is not None:
        assign(frame, node.target, frame.evaluate(node.value, state), state, node.value)


def _augmented(frame: Frame, node: ast.AugAssign, state: State) -> None:
    target, value = node.target, frame.evaluate(node.value, state)
    frame.machine.emit(Augmented(frame, state, node, value))
    load = _as_load(target)
    held = frame.evaluate(load, state)
    if isinstance(node.op, ast.BitOr) and loaders.is_from_loader(held):
        result: Value = UNKNOWN
    elif isinstance(held, Seq) and isinstance(value, Seq) and held.items is not None and value.items is not None:
        result = concatenated(held, value)
    elif isinstance(held, Seq) and isinstance(node.op, ast.Add):
        inner = element_of(value)
        result = Seq(None, inner if held.items == () else join(held.element, inner))
    elif is_number(held) and is_number(value):
        result = NUMBER
    else:
        symbol = f"`{operations.SYMBOLS[type(node.op)]}=`"
        operands = told_by_other(frame, [(load, held), (node.value, value)])
        result = operations.combine(frame, state, node, symbol, operands, in_place=isinstance(held, Tensor))
    if not isinstance(target, ast.Subscript) and not appended.note_grown(frame, state, target, held, value):
        assign(frame, target, result, state)


def _as_load(target: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """The target of an augmented assignment as the expression that is read."""
    if isinstance(target, ast.Name):
        loaded: ast.expr = ast.Name(target.id, ast.Load())
    elif isinstance(target, ast.Attribute):
        loaded = ast.Attribute(target.value, target.attr, ast.Load())
    else:
        loaded = ast.Subscript(target.value, target.slice, ast.Load())
    return ast.copy_location(loaded, target)


def _return(frame: Frame, node: ast.Return, state: State) -> None:
    value = frame.evaluate(node.value, state) if node.value is not None else NONE
    if frame.depth == 0 and node.value is not None:
        frame.machine.emit(Returned(frame, state, node.value, value))
        if not state.guarded and not state.without_accelerator:
            frame.returned.append((node.value, state.conditions, value))
    if frame.without_accelerator or not state.without_accelerator:
        frame.returns.append((state.conditions, value))
    else:
        frame.returns_otherwise.append(value)
    frame.exits.append(state.copy())
    state.alive = False


def _end(frame: Frame, node: ast.Raise, state: State) -> None:
    if node.exc is not None:
        frame.evaluate(node.exc, state)
    state.alive = False


def _leave_round(frame: Frame, node: ast.Break | ast.Continue, state: State) -> None:
    frame.left.append(state.copy())
    state.alive = False


def _if(frame: Frame, node: ast.If, state: State) -> None:
    frame.machine.emit(Branched(frame, state, node))
    test = frame.evaluate(node.test, state)
    note_asked(frame, state, node.test, test)
    if type(test) is Guard:
        _guarded(frame, node, state, test.holds)
        return
    of_object = isinstance(node.body[-1], ast.Raise) and refuse_apart(frame, state, node.test)
    outcome = outcome_of(frame, node.test, test, state)
    if outcome is not None:
        execute(frame, node.body if outcome else node.orelse, state)
        return
    holds, fails = arms(frame, node.test, state)
    holds.cuda_of = None if node.orelse else asked_tensor(frame, node.test) or holds.cuda_of
    fails.without_accelerator = fails.without_accelerator or of_object
    other = node.orelse or (frame.following if isinstance(node.body[-1], ast.Return) else [])
    if places_load(frame, node.body, other):
        holds.guarded = fails.guarded = True
    wrappers.refine_by_use(frame, node.body, node.orelse, holds, fails)
    execute(frame, node.body, holds)
    execute(frame, node.orelse, fails)
    before, guarded = state.conditions, state.guarded
    merge_states(state, holds, fails)
    state.guarded = guarded
    if state.alive and holds.alive and fails.alive:
        state.conditions = before
        for path in filled_at_first_use(frame.function or frame.machine.tree, node):
            if path in holds.paths:
                state.bind(path, holds.paths[path])


def _guarded(frame: Frame, node: ast.If, state: State, holds: bool) -> None:
    """A test that asks for an accelerator: the arm that runs with one counts, the other is looked at for itself."""
    chosen, skipped = (node.body, node.orelse) if holds else (node.orelse, node.body)
    without = state.copy()
    without.without_accelerator = True
    execute(frame, skipped, without)
    guarded, cuda_of = state.guarded, state.cuda_of
    state.guarded, state.cuda_of = True, None if node.orelse else asked_tensor(frame, node.test) or cuda_of
    execute(frame, chosen, state)
    state.guarded, state.cuda_of = guarded or not without.alive, cuda_of
    if not state.alive and without.alive:
        state.take_names(without)
        state.alive = state.without_accelerator = True
    elif without.alive:
        for held, otherwise in ((state.env, without.env), (state.paths, without.paths)):
            other = (each for each in otherwise.items() if held.get(*each) is not each[1])
            held.update([(name, with_accelerator(held[name], value)) for name, value in other])


def _for(frame: Frame, node: ast.For | ast.AsyncFor, state: State) -> None:
    frame.machine.emit(Looped(frame, state, node))
    source = frame.evaluate(node.iter, state)
    element = loaders.batch_of(frame, node, state) or element_of(source)
    frame.machine.emit(Escaped(frame, [source]))
    _loop(frame, node, state, start_of_round(frame, node, element, state), first_round_counter(node))
    execute(frame, node.orelse, state)


def _while(frame: Frame, node: ast.While, state: State) -> None:
    _loop(frame, node, state, lambda inner: frame.evaluate(node.test, inner))
    execute(frame, node.orelse, state)


def _loop(frame: Frame, node: Loop, state: State, start: Callable[[State], object], counter: str = "") -> None:
    """Run the body once, and once more where the first round changed something, or a `counter` is asked for zero.

    At least once: so flags such as ``first = True`` say in the second round what they mean. Inside of several loops
    there is one round only, since the rounds multiply, and so it is in another file.
    """
    outer, frame.left = frame.left, []
    frame.loop_depth += 1
    before, ends = state.copy(), []
    once = frame.loop_depth > _MAX_REPEATED_LOOPS or frame.machine.reading.is_elsewhere
    for number in range(1 if once else 2):
        frame.loop_round += 1
        entered = state.copy()
        start(state)
        if counter and number == 0 and not once:
            state.env[counter] = Const(0)
        execute(frame, node.body, state)
        for left in frame.left:
            merge_states(state, state.copy(), left, tagged=False)
        frame.left = []
        state.conditions = before.conditions
        if not state.alive and counter and number == 0:
            state.take_names(entered)
            state.alive = True
            continue
        if not state.alive:
            break
        ends.append(state.copy())
        if not counter and ends_with(node, state, entered):
            break
    frame.left = outer
    frame.loop_depth -= 1
    if len(ends) == 2:
        merge_states(state, ends[0], ends[1], tagged=False)
    elif not ends:
        state.take_names(before)
        state.alive = True


def _with(frame: Frame, node: ast.With | ast.AsyncWith, state: State) -> None:
    default, guarded, tried, machine = state.default_device, state.guarded, state.tried, frame.machine
    for item in node.items:
        state.tried = state.tried or suppresses_refusal(item.context_expr)
        value = frame.evaluate(item.context_expr, state)
        contexts.enter(frame, item.context_expr, state)
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value if contexts.gives_itself(value) else UNKNOWN, state)
    fails = any(contexts.expects_an_error(item.context_expr) for item in node.items)
    machine.muted += fails
    execute(frame, node.body, state)
    machine.muted -= fails
    state.default_device, state.guarded, state.tried = default, guarded, tried


def _try(frame: Frame, node: ast.Try, state: State) -> None:
    before, guarded, tried = state.copy(), state.guarded, state.tried
    state.tried = tried or handles_refusal(node)
    if any(places_load(frame, each.body, node.body) for each in node.handlers):
        state.guarded = True
    execute(frame, node.body, state)
    state.guarded, state.tried = guarded, tried
    failed = before.copy()
    merge_states(failed, before.copy(), state.copy(), tagged=False)
    execute(frame, node.orelse, state)
    for handler in node.handlers:
        caught = failed.copy()
        caught.alive = True
        if handler.name:
            caught.env[handler.name] = UNKNOWN
        wrappers.refine_by_failure(frame, node.body, caught)
        execute(frame, handler.body, caught)
        merge_states(state, state.copy(), caught, tagged=False)
    ended = not state.alive
    if ended:
        state.alive = True
    execute(frame, node.finalbody, state)
    if ended:
        state.alive = False


def _delete(frame: Frame, node: ast.Delete, state: State) -> None:
    for target in node.targets:
        path = dotted_path(target)
        if path is not None:
            state.env.pop(path, None)
            state.paths.pop(path, None)
            forget_paths(state, path)


def _global(frame: Frame, node: ast.Global, state: State) -> None:
    frame.globals.update(node.names)


def _assert(frame: Frame, node: ast.Assert, state: State) -> None:
    test = frame.evaluate(node.test, state)
    if isinstance(test, Guard) and not test.holds:
        state.without_accelerator = True
    holds, _ = arms(frame, node.test, state)
    state.take_names(holds)
    state.conditions = holds.conditions


def _match(frame: Frame, node: ast.Match, state: State) -> None:
    subject = frame.evaluate(node.subject, state)
    before = state.copy()
    for case in node.cases:
        arm = before.copy()
        for name, value in captured(case.pattern, subject):
            arm.env[name] = value
        if case.guard is not None:
            frame.evaluate(case.guard, arm)
        execute(frame, case.body, arm)
        merge_states(state, state.copy(), arm, tagged=False)


TRANSFER: dict[type, Callable[..., None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Return: _return,
    ast.Raise: _end,
    ast.Break: _leave_round,
    ast.Continue: _leave_round,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.FunctionDef: define_function,
    ast.AsyncFunctionDef: define_function,
    ast.ClassDef: define_class,
    ast.Import: import_modules,
    ast.ImportFrom: import_names,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Assert: _assert,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    TRANSFER[ast.TryStar] = _try
