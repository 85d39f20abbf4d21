"""The entrance of the inference: one file in, facts out."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from torchdevlint.config import Settings
from torchdevlint.flow.events import FileEnded, FileStarted, FunctionEnded, Initialised
from torchdevlint.flow.facts import all_facts
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices
from torchdevlint.flow.kinds.construction import is_built_by_base, is_part_of_init
from torchdevlint.flow.kinds.parameters import symbolic_parameters
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.observers import Observers
from torchdevlint.flow.run import expressions, statements
from torchdevlint.flow.run.built_attributes import keep_built
from torchdevlint.flow.run.calls import call_value
from torchdevlint.flow.run.functions import run_body
from torchdevlint.flow.run.named_calls import NamedCalls
from torchdevlint.flow.run.objects import self_of
from torchdevlint.flow.run.statements import execute
from torchdevlint.flow.scope import input_pipeline
from torchdevlint.flow.scope.default_changes import changes_default
from torchdevlint.flow.scope.names import is_one_of, parameter_names
from torchdevlint.flow.scope.programs import functions_apart_from
from torchdevlint.flow.scope.traced import functions_when_traced
from torchdevlint.flow.state.arrivals import Parameter
from torchdevlint.flow.state.classes import ClassInfo, bind
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.machine import Frame, Machine, bring_up_to_date
from torchdevlint.flow.state.others import forget_filled, forget_rebound, open_settings, owner_of, settings_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import Closure, Func
from torchdevlint.flow.verdicts import led_to, not_told_there, with_causes
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.reach import is_of_another_framework, is_of_another_torch
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK
from torchdevlint.source.text import Source

if TYPE_CHECKING:
    from torchdevlint.flow.grading import Grading
    from torchdevlint.flow.programs.texts.callers import Given
    from torchdevlint.flow.recording import Recording

TRANSFERS = {**statements.TRANSFER, **expressions.TRANSFER}
"""What each statement does, and what each expression gives."""
_STANDING = {"forward": 4, "method": 3, "init": 2, "function": 1}
_LONGEST_WORD = 40
_STAND_BEHIND_THE_END = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def analyse(
    tree: ast.Module,
    source: Source,
    settings: Settings,
    wanted: frozenset[str] | None = None,
    project: Project | None = None,
    observers: Observers | None = None,
    recording: Recording | None = None,
    alone: bool = False,
) -> list[Fact]:
    """The facts of one file, in source order, whose `source` has its tree set.

    Facts of kinds whose names are not `wanted` may be missing; without it, all are there. Without `project` the file is
    looked at alone, and without `observers` only the checks of the inference look on. A `recording` remembers what the
    run held each expression to be. `alone` leaves out what is so only for what the file hands to others.

    The module is run first, then every class and function is entered on its own, so that code nobody calls here is
    seen too. What is entered first is what gives a finding its context: forward before other methods before functions,
    and callers before what they call, so that it is known what a parameter gets.
    """
    if project is not None and is_of_another_torch(project.path):
        return []
    kinds = frozenset(all_facts()) if wanted is None else wanted
    looking = Observers() if observers is None else observers
    grading: Grading | None = None

    def found(default_changed: bool) -> list[Fact]:
        nonlocal grading
        table = TRANSFERS if recording is None else recording.of(tree, TRANSFERS)
        told = looking.in_file(source.text)
        machine = Machine(tree, source, settings, table, execute, _enter, call_value, told, kinds, project)
        machine.default_changed = default_changed
        _run(machine)
        machine.emit(FileEnded(machine))
        if machine.held and grading is None:
            from torchdevlint.flow.grading import Grading

            grading = Grading(tree, source.text, project, partial(_calls_in, settings=settings))
        facts = [] if grading is None else grading.standing(machine, looking.settled)
        if recording is None:
            _let_go(machine)
        else:
            recording.machine = machine
        return facts

    facts = found(default_changed=False)
    if grading is None:
        return []
    if any(each.rests_on_default for each in facts) and any(map(changes_default, grading.entry_scripts())):
        facts = found(default_changed=True)
    grading.keep_what_was_asked()
    return with_causes(_told_here(facts, settings, project, alone))


def _told_here(facts: list[Fact], settings: Settings, project: Project | None, alone: bool) -> list[Fact]:
    """The facts without those that this file only leads to, where the other file tells of them, or nobody asks."""
    led = led_to(facts)
    if not led or project is None:
        return facts
    kept = [] if alone else list(not_told_there(led, partial(_mixed_in, settings=settings, project=project)))
    return [each for each in facts if each not in led or each in kept]


def _mixed_in(path: str, settings: Settings, project: Project) -> list[Fact]:
    """The operands that meet in another file of the project, for all that it knows by itself."""
    module = project.module(path)
    if module is None:
        return []
    asked = Project(path, project.library)
    kinds = frozenset({MixedDevices.__name__, BatchNotMoved.__name__})
    facts = analyse(module.tree, module.source, settings, kinds, asked, alone=True)
    project.add(asked)
    return facts


def _calls_in(module: ModuleFile, project: Project, name: str, settings: Settings) -> Given:
    """What the calls in another file of the project give to parameters, on the ways to what goes by `name`."""
    tree, source = module.tree, module.source
    named, look = NamedCalls(name), frozenset[str]()
    machine = Machine(tree, source, settings, TRANSFERS, execute, _enter, call_value, named.looking_on, look, project)
    machine.looked_at.update(functions_apart_from(module.tree, name))
    _run(machine)
    given: Given = {}
    called = dict.fromkeys((*machine.observed, *machine.arrivals.made_of))

    def told(parameter: Parameter) -> tuple[bool | None, bool | tuple[Parameter, ...]]:
        return machine.observed.get(parameter), machine.arrivals.given_to(parameter, machine.observed)

    for function, name in (*_of_transforms_elsewhere(machine), *called):
        file = machine.others.holding(function) if machine.others is not None else None
        if file is not None:
            found = told((function, name)) if (function, name) in called else (True, True)
            given[file.path, function.lineno, name] = found  # type: ignore[attr-defined]
    given |= {key: told(parameter) for parameter, key in named.given(list(called))}
    _let_go(machine)
    return given


def _of_transforms_elsewhere(machine: Machine) -> Iterator[Parameter]:
    """The parameters of all methods of classes of other files that are part of an input pipeline here."""
    for info in machine.classes_elsewhere.values():
        if info.in_pipeline:
            yield from ((node, name) for node in info.methods.values() for name in parameter_names(node))


def _run(machine: Machine) -> None:
    """Run the module, then enter what it defines."""
    tree = machine.tree
    _scan(machine, tree)
    machine.emit(FileStarted(machine))
    if not torch_api.OTHER_RUNTIMES.isdisjoint(machine.words):
        machine.looked_at.update(functions_when_traced(tree))
    touched = _run_module(machine, tree)
    machine.default_changed |= any(map(_is_built_by_a_change, machine.classes.values()))
    seen: set[ast.ClassDef] = set()
    while True:
        new = [info for node, info in machine.classes.items() if node not in seen]
        seen.update(machine.classes)
        _enter_classes(machine, sorted(new, key=lambda info: info.node.lineno), touched)
        _enter_functions(machine, touched)
        if len(seen) == len(machine.classes):
            break


def _let_go(machine: Machine) -> None:
    """Cut the references that run in circles, so that trees are freed at once and not when the collector comes by."""
    for info in (*machine.classes.values(), *machine.classes_elsewhere.values(), *machine.classes_in_calls):
        vars(info).clear()
    machine.let_go()


def _enter_classes(machine: Machine, classes: list[ClassInfo], touched: Touch | None) -> None:
    for info in classes:
        _enter_methods(machine, info, ("__init__",), touched)
    for info in classes:
        if info.is_module:
            _enter_methods(machine, info, ("forward",), touched)
    for called in (False, True):
        for info in classes:
            _enter_methods(machine, info, tuple(_others(info)), touched, called)


def _enter_functions(machine: Machine, touched: Touch | None) -> None:
    """First those that nothing called so far, then those that were; at last what they define inside, however deep."""
    _enter_those(machine, touched, called=False)
    _enter_those(machine, touched, called=True)
    known = -1
    while known < len(machine.functions):
        known = len(machine.functions)
        _enter_those(machine, touched, called=False)


def _enter_those(machine: Machine, touched: Touch | None, called: bool) -> None:
    for function in list(machine.functions.values()):
        if (function.node in machine.entered) is called and function.node not in machine.looked_at:
            _enter_function(machine, function, Entry("function", function.qualname, function.owner), touched)


def _scan(machine: Machine, tree: ast.Module) -> None:
    """What a whole file says: the words in it, which loads feed `load_state_dict`, and whether the default changes."""
    words = {each.attr for each in nodes_in(tree, ast.Attribute)}
    words |= {each.id for each in nodes_in(tree, ast.Name)}
    words |= {each.arg or "" for each in nodes_in(tree, ast.keyword)}
    words |= {each.name for each in nodes_in(tree, ast.ClassDef)}
    words |= {each.name for each in nodes_in(tree, ast.FunctionDef)}
    words |= {each.name.rpartition(".")[2] for each in nodes_in(tree, ast.alias)}
    texts = {each.value for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str)}
    words |= {text for text in texts if len(text) < _LONGEST_WORD}
    machine.words = frozenset(words)
    machine.sets_visible_devices = torch_api.VISIBLE_DEVICES in words
    machine.imports_torch = not is_of_another_framework(tree)
    if not machine.imports_torch:
        machine.others = None
    if input_pipeline.concerns(machine.words):
        machine.pipeline = input_pipeline.functions_in(tree)
    if not torch_api.CHANGES_DEFAULT.isdisjoint(words):
        machine.default_changed |= changes_default(tree)


def _is_built_by_a_change(info: ClassInfo) -> bool:
    """Whether a base of another file changes the default in ``__init__``: all methods run after that."""
    bases = (base for base in info.mro if owner_of(base.closure) is not None and "__init__" in base.methods)
    return any(changes_default(base.methods["__init__"]) for base in bases)


def _run_module(machine: Machine, tree: ast.Module) -> Touch | None:
    """Run the statements of the module; give the touch of CUDA that importing it does.

    Where the program surely ends, what follows is not run; cells of a notebook are run in any order, and what is behind
    the main guard is run where the file is imported. Definitions behind the end are looked at: somebody wrote them.
    """
    frame = Frame(machine, Entry("module", ""), Closure(()), "", names=machine.globals, context="module")
    state = State(machine.globals)
    touched: Touch | None = None
    ended, in_cells = False, machine.others is not None and machine.others.home.endswith(NOTEBOOK)
    for statement in tree.body:
        if ended and not isinstance(statement, _STAND_BEHIND_THE_END):
            continue
        state.alive = True
        execute(frame, [statement], state)
        if not is_main_guard(statement):
            touched = state.touched
            ended = ended or not (state.alive or in_cells)
        bring_up_to_date(frame, state)
        state.env = machine.globals
    forget_rebound(machine.globals, {each for node in nodes_in(tree, ast.Global) for each in node.names})
    forget_filled(machine.globals, tree)
    open_settings(machine.globals, settings_of(machine.globals, tree, "cuda" in machine.words))
    return touched


def _others(info: ClassInfo) -> Iterator[str]:
    """The methods that are not entered for themselves before all others."""
    return (name for name in info.methods if name not in ("__init__", "forward") or not info.is_module)


def _enter_methods(
    machine: Machine, info: ClassInfo, names: tuple[str, ...], touched: Touch | None, called: bool | None = None
) -> None:
    """Enter the methods with these names; with `called`, only those that were called so far, or that were not."""
    for name in names:
        node = info.methods.get(name)
        if (
            node is None
            or node in machine.looked_at
            or (called is not None and (node in machine.entered) is not called)
        ):
            continue
        function = bind(info, node, self_of(info))
        reached = node in machine.reached and info.is_module
        private = name.startswith("_") and not name.endswith("__")
        if reached and private and node not in machine.told_nothing:
            continue
        kind = "forward" if reached else _entry_kind(machine, info, name)
        info.evaluated.add(node)
        built = touched if name == "__init__" else touched or info.touched
        end = _enter_function(machine, function, Entry(kind, function.qualname, info), built)
        if name == "__init__" and end is not None:
            info.touched = end.touched
            if info.is_module:
                keep_built(info, end)
            machine.emit(Initialised(machine, info, end))
        elif end is not None and info.is_module and is_built_by_base(info, name, kind == "init"):
            machine.emit(Initialised(machine, info, end, name))


def _entry_kind(machine: Machine, info: ClassInfo, name: str) -> str:
    hooks: set[str] = {"forward"} if info.is_module else set()
    for base in info.library_bases:
        managed = is_one_of(base, info.settings.device_managed_bases)
        known = libraries.known("lightning.LightningModule" if managed else base)
        hooks.update(known.on_device if known is not None else ())
    if not info.is_module:
        return "forward" if name in hooks else "function"
    if name == "__init__" or is_part_of_init(machine, info, name):
        return "init"
    return "forward" if name in hooks else "method"


def _enter(machine: Machine, function: Func, entry: Entry, touched: Touch | None) -> Touch | None:
    """Run a function with symbolic arguments where a program says so; give the touch of CUDA at its end."""
    end = _enter_function(machine, function, entry, touched)
    return None if end is None else end.touched


def _enter_function(machine: Machine, function: Func, entry: Entry, touched: Touch | None) -> State | None:
    """Run a function with symbolic arguments; give the state at its end."""
    if machine.calls_left <= 0:
        return None
    frame = Frame(
        machine,
        entry,
        function.closure,
        function.qualname,
        function.node,
        function.owner,
        function.receiver,
        context=entry.kind,
    )
    if not machine.muted:
        machine.looked_at.add(function.node)
    around = machine.entry_owner, machine.entry_node, machine.standing
    machine.entry_owner, machine.entry_node = entry.owner, function.node
    machine.standing = _STANDING.get(entry.kind, 0)
    parameters = symbolic_parameters(frame, function.node, entry, function.receiver)
    state = State(parameters, touched=None if function.node in machine.entered else touched)
    run_body(frame, state)
    machine.emit(FunctionEnded(frame, State({}), state))
    machine.entry_owner, machine.entry_node, machine.standing = around
    return state
