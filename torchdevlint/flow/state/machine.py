"""What an abstract run carries besides the state of a path: the frame of a function, and the machine of a file.

The evaluator is spread over modules that call each other (an expression calls a function, whose body holds
expressions); the machine holds the `transfers` of statements and expressions, `execute` and `call_value`, tied in
`torchdevlint.flow.analyse`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from torchdevlint.config import Settings
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.state.arrivals import Arrivals, Key
from torchdevlint.flow.state.conditions import asks_for_none, either
from torchdevlint.flow.state.entries import Entry, Held, Outcome
from torchdevlint.flow.state.limits import MAX_CALLS_ELSEWHERE, MAX_STATEMENTS_ELSEWHERE, calls_followed
from torchdevlint.flow.state.near import Near
from torchdevlint.flow.state.others import OtherFiles, OtherNames, is_elsewhere
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.reading import Reading
from torchdevlint.flow.state.touch import Touch
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Closure,
    Conditions,
    Func,
    Library,
    Names,
    Step,
    Value,
)
from torchdevlint.model import Span
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.text import Source

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo

Memory = TypeVar("Memory")


class Frame:
    """One activation of one function."""

    def __init__(
        self,
        machine: Machine,
        entry: Entry,
        closure: Closure,
        scope: str,
        function: AnyFunction | None = None,
        owner: ClassInfo | None = None,
        receiver: Value | None = None,
        depth: int = 0,
        context: str = "",
        names: Names | None = None,
        called_at: tuple[ast.AST, Frame] | None = None,
        nesting: int = 0,
        without_accelerator: bool = False,
        given: tuple[Value, ...] = (),
    ) -> None:
        self.machine = machine
        self.transfers = machine.transfers
        self.entry = entry
        self.closure = closure
        self.scope = scope
        self.function = function
        self.owner = owner
        self.receiver = receiver
        self.depth = depth
        self.context = context
        """``forward`` in the forward of a Module and in what it calls, else the kind of the entry."""
        self.names: Names = {} if names is None else names
        """The names that functions defined here see; brought up to date before each call."""
        self.returns: list[tuple[Conditions, Value]] = []
        self.returns_otherwise: list[Value] = []
        """What is returned where there is no accelerator."""
        self.yields: list[Value] = []
        self.without_accelerator = without_accelerator
        """Called on a path that only a machine without one comes to."""
        self.called_at = called_at
        """The call that runs this function, and the frame that it stands in."""
        self.given = given
        """The arguments in a place that it is called with, a receiver among them."""
        self.nesting = nesting
        """How many containers are inside each other in the arguments that it is called with."""
        self.activation = 0
        self.loop_round = 0
        self.loop_depth = 0
        self.tensor_names: tuple[str, ...] = ()
        self.globals: set[str] = set()
        self.shared: set[str] = set()
        """Names that a function defined here binds too."""
        self.left: list[State] = []
        self.following: list[ast.stmt] = []
        """What comes after the `if` that is run, in the same block."""
        self.returned: list[tuple[ast.expr, Conditions, Value]] = []
        """The expressions that the function that was entered returns, with the conditions of their paths."""
        self.exits: list[State] = []

    def evaluate(self, node: ast.expr, state: State) -> Value:
        """What `node` is at this point; calls and operations in it are checked on the way."""
        transfer = self.transfers.get(type(node))
        if transfer is None:
            return UNKNOWN
        value: Value = transfer(self, node, state)
        return value


class Machine:
    """The abstract run of one file."""

    def __init__(
        self,
        tree: ast.Module,
        source: Source,
        settings: Settings,
        transfers: Mapping[type, Callable[..., Any]],
        execute: Callable[[Frame, list[ast.stmt], State], None],
        enter: Callable[[Machine, Func, Entry, Touch | None], Touch | None],
        call_value: Callable[..., Value],
        looking_on: Callable[[type], tuple[Callable[..., None], ...]],
        wanted: frozenset[str],
        project: Project | None = None,
    ) -> None:
        self.wanted = wanted
        """The names of the kinds of facts that somebody reads."""
        self.tree = tree
        self.settings = settings
        self.transfers = transfers
        self.execute = execute
        self.enter = enter
        self.call_value = call_value
        self._looking_on = looking_on
        self._observers: dict[type, tuple[Callable[..., None], ...]] = {}
        self._memories: dict[type, Any] = {}
        self.globals: dict[str, Value] = {}
        self.others = OtherFiles(self.run_elsewhere, project) if project is not None else None
        self.reading = Reading(tree, source, self.others)
        self.span_of, self.text_of = self.reading.span_of, self.reading.text_of
        self.stars: list[str] = []
        """The files of the project that all names are imported from, the last one first."""
        self.unseen_star = False
        """Whether it imports ``*`` from a module that is not to be had."""
        self.sets_visible_devices = False
        self.default_changed = False
        self.muted = 0
        """Above 0, nothing is recorded."""
        self.unseen = 0
        """Above 0, nobody is told what happens either: another file is run for what a name or an attribute holds."""
        self.in_child = False
        """What is run is run in another process: what touches CUDA is what that process cannot do, if it was forked."""
        self.entry_owner: ClassInfo | None = None
        self.entry_node: ast.AST | None = None
        self.calls_left = calls_followed(tree)
        self.calls_elsewhere_left = MAX_CALLS_ELSEWHERE
        self.statements_elsewhere_left = MAX_STATEMENTS_ELSEWHERE
        self.activations = 0
        self.activations_elsewhere: set[str] = set()
        """The numbers of those of functions of other files, which begin the keys of the tests there."""
        self.active: list[ast.AST] = []
        self.runs: dict[ast.AST, int] = {}
        self.memo: dict[tuple[object, ...], Outcome] = {}
        self.without_accelerator: set[tuple[str, bool]] = set()
        """Branch conditions that hold only where no accelerator is used: the arms of ``if not args.cuda:``."""
        self.entered: set[ast.AST] = set()
        """Functions that were called in what was run."""
        self.observed: dict[tuple[ast.AST, str], bool] = {}
        """For each parameter that got a tensor in a call of this file: whether all of them were on the CPU."""
        self.near: dict[ast.AST, Near] = {}
        """What was around calls that a fix may change, when they were run."""
        self.loaders: dict[ast.AST, Library | None] = {}
        """For each place that takes batches from a loader: the loader, if it is known."""
        self.arrivals = Arrivals()
        self.looked_at: set[ast.AST] = set()
        """Functions that were entered on their own."""
        self.reached: set[ast.AST] = set()
        """Those that were called, directly or not, from the forward of a Module."""
        self.told_nothing: set[ast.AST] = set()
        """Those of which a call gave a parameter that is annotated as a tensor something of which nothing is known."""
        self.classes: dict[ast.ClassDef, ClassInfo] = {}
        self.functions: dict[ast.AST, Func] = {}
        self.classes_elsewhere: dict[ast.ClassDef, ClassInfo] = {}
        self.classes_in_calls: list[ClassInfo] = []
        """Those that functions made which were called, not entered on their own."""
        self.words: frozenset[str] = frozenset()
        self.imports_torch = False
        """Whether an import of the file names torch, or a library whose tensors are torch's alone."""
        self.pipeline: frozenset[ast.AST] = frozenset()
        """Functions that loaders call, which get tensors of the CPU."""
        self.discarded: ast.expr | None = None
        """What is a statement of its own, so that nobody sees what it gives."""
        self.standing = 0
        """How much the code that is being run tells of itself: `forward` over other methods, functions, scripts."""
        self.explained: set[object] = set()
        """Keys of facts, and ends of such keys, that something else says the reason of."""
        self.held: dict[Key, Held] = {}
        """The facts that were recorded."""
        self.elsewhere: dict[Key, Conditions] = {}
        """Those of other files that hold on some paths, with the conditions of these."""

    def emit(self, event: object) -> None:
        """Tell those who look on at events of this kind that something happens (see `torchdevlint.flow.events`)."""
        if self.unseen:
            return
        observers = self._observers.get(type(event))
        if observers is None:
            observers = self._observers[type(event)] = self._looking_on(type(event))
        for observe in observers:
            observe(event)

    def has_observers(self, kind: type) -> bool:
        """Whether anybody would be told of an event of this kind, of which many happen and few are asked for."""
        observers = self._observers.get(kind)
        if observers is None:
            observers = self._observers[kind] = self._looking_on(kind)
        return bool(observers)

    def observe(self, kind: type, observer: Callable[..., None]) -> None:
        """From now on, tell one more observer of events of this kind; nothing changes if it is told already."""
        known = self._observers.get(kind)
        if known is None:
            known = self._looking_on(kind)
        if observer not in known:
            self._observers[kind] = (*known, observer)

    def let_go(self) -> None:
        """Cut the references that run in circles; nothing is run after it."""
        if self.reading.others is not None:  # `others` is None for a file of another framework
            self.reading.others.let_go()
        for kept in (self.globals, self.memo, self._memories):
            kept.clear()

    def memory(self, kind: type[Memory]) -> Memory:
        """What one check keeps while this file is run: an object of its own class, made when it first asks."""
        held: Memory | None = self._memories.get(kind)
        if held is None:
            held = self._memories[kind] = kind()
        return held

    def may_run(self, function: Func) -> bool:
        """Whether another function body may be run, of which there is a number for each file."""
        here = not is_elsewhere(function)
        return self.calls_left > 0 if here else min(self.calls_elsewhere_left, self.statements_elsewhere_left) > 0

    def default_is_cpu(self, state: State) -> bool:
        """Whether what names no device is made on the CPU at this point, as far as the file and its importers show."""
        return not self.default_changed and state.default_device is None

    def is_without_accelerator(self, conditions: Conditions) -> bool:
        """Whether branches that are taken under these conditions are taken only where no accelerator is used."""
        return bool(conditions) and not self.without_accelerator.isdisjoint(conditions)

    def run_elsewhere(self, names: OtherNames, statements: Sequence[ast.stmt]) -> Touch | None:
        """Run statements of the top level of another file, without recording anything; give their touch of CUDA."""
        closure = Closure((names,))
        frame = Frame(self, Entry("module", ""), closure, "", names=names, context="module")
        state = State(names)
        unseen = not self.sets_visible_devices  # else it is asked what touches CUDA
        self.muted += 1
        self.unseen += unseen
        around = self.reading.enter(closure)
        try:
            for statement in statements:
                state.alive = True
                self.execute(frame, [statement], state)
                bring_up_to_date(frame, state)
                state.env = names
        finally:
            self.reading.leave(around)
            self.unseen -= unseen
            self.muted -= 1
        return state.touched

    def record(self, key: Key, make: Callable[[], Fact], state: State, argument: str | None = None) -> None:
        """Keep the fact that `make` gives, unless the path is not one that facts come from.

        Of what another file does, only what it does on every path counts: which one is taken, its caller may know. So
        does what it does in both arms of a test, and where something is there, since that is what the caller gave.
        Of several facts with one `key`, the first of the highest standing stays. It falls if each of these takes an
        `argument` of the function that was entered to be elsewhere, and calls give it one of the CPU.
        """
        if self.muted or state.without_accelerator:
            return
        if state.conditions and self.reading.is_elsewhere and not self._is_on_every_path(key, state.conditions):
            return
        if self.is_without_accelerator(state.conditions):
            return
        held = self.held.get(key)
        if self.entry_owner is not None and self.entry_owner.in_pipeline:
            return
        if held is None or self.standing > held.standing:
            held = self.held[key] = Held(self.standing, make(), self.entry_owner)
        if self.standing == held.standing:
            assumed = None if argument is None or self.entry_node is None else (self.entry_node, argument)
            held.assumed[assumed] = None

    def _is_on_every_path(self, key: Key, conditions: Conditions) -> bool:
        """Whether what this file does there, and what it gives, decide the path, as far as that is decided."""
        left = tuple(each for each in conditions if not (asks_for_none(each[0]) or self._is_asked_here(each[0])))
        known = self.elsewhere.get(key)
        both = left if known is None else either(known, left)
        self.elsewhere[key] = left if both is None else both
        return both == ()

    def _is_asked_here(self, key: str) -> bool:
        activation = key.partition(".")[0]
        return activation.isdigit() and activation not in self.activations_elsewhere

    def record_anyway(self, key: Key, make: Callable[[], Fact]) -> None:
        """Like `record`, for facts that hold with and without an accelerator."""
        if not self.muted and key not in self.held:
            self.held[key] = Held(self.standing, make(), assumed={None: None})

    def explain(self, *keys: object) -> None:
        """Take back the facts with these keys, or with one of these as the end of their key: something else says why.

        That is another fact, which says more, or a line of the file that puts it right.
        """
        self.explained.update(keys)

    def evidence(self, steps: tuple[Step, ...]) -> tuple[tuple[str, Span], ...]:
        return tuple((step.text, self.span_of(step.node)) for step in steps)


def bring_up_to_date(frame: Frame, state: State) -> None:
    """Let the functions that were defined in this frame see its names as they are now."""
    if frame.names is not state.env:
        frame.names.update(state.env)


def closure_of(frame: Frame, state: State) -> Closure:
    """What a function defined here sees: this frame's names and those around it."""
    bring_up_to_date(frame, state)
    return Closure((frame.names, *frame.closure.scopes))
