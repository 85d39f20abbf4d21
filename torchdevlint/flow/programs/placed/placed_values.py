"""Where what a program brings to an accelerator may go: through names, attributes, arguments and results.

The order of statements does not count, nor which object holds an attribute, so that nothing which can be placed is
missed. What makes a tensor anew, or brings it to the host, ends it.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable

from torchdevlint.flow.programs.placed.definitions import (
    PLACED,
    Calls,
    Definitions,
    Object,
    Token,
    handed_to,
    is_decorated,
    is_import,
    is_of_class,
    is_super,
    receiver_of,
)
from torchdevlint.flow.programs.placed.kept_attributes import KeptAttributes
from torchdevlint.flow.programs.placed.placing import FILLING, OF_ITSELF, ON_HOST, Placing, is_of_host, is_put_on_host
from torchdevlint.flow.programs.placed.worklist import HeldTokens, place_of
from torchdevlint.flow.programs.reached.running import LOOKING_UP, Running
from torchdevlint.flow.programs.texts.leading_names import CALLED_BY_TORCH
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path, last_name, positional_names
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.nodes import CHILDREN, assignments_in, below, inside, is_below, nodes_in

_FUNCTIONS, _RESULT = (ast.FunctionDef, ast.AsyncFunctionDef), "return"
_OF_PARTS = ("state_dict", "parameters", "named_parameters", "buffers")
_GOT_OUT = ("__getitem__", "__iter__", "__next__", "collate_fn")
_NOTHING: frozenset[Token] = frozenset()


class PlacedValues:
    """The values of one program: where each token may be, which is a definition or says that something is placed."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self.placing = Placing(running.scopes)
        self._units = running.scopes
        self._held = HeldTokens(len(self._units))
        self._given: dict[ast.AST, frozenset[Token]] = {}
        self.calls = Calls()
        self.known = Definitions(running)
        self._attributes = KeptAttributes(self._held, self.known)
        for unit in self._held.units():
            self._given.clear()
            self._run(*self._units[unit])

    @property
    def is_complete(self) -> bool:
        """Whether all was followed; of a larger program nobody knows where its values go."""
        return self._held.is_complete

    def may_be_placed(self, scope: Scope, node: ast.expr) -> bool:
        """Whether what an expression gives may be on an accelerator."""
        return PLACED in self.tokens(scope, node)

    def moves(self, made: Object) -> bool:
        """Whether an object of the class is moved somewhere."""
        return self._are_placed([made])

    def kept(self, name: str) -> set[Token]:
        """What objects may keep as an attribute of a name."""
        return self._attributes.of_any(name)

    def tokens(self, scope: Scope, node: ast.expr) -> frozenset[Token]:
        """What an expression may give, in the end."""
        self._given.clear()
        return self._value(scope, node)

    def _moved(self, tokens: Iterable[Token]) -> None:
        """An object is moved, with all that its class builds; but data that others read item by item is not."""
        for each in tokens:
            if isinstance(each, Object) and self.known.may_hold_placed(each):
                self._held.put((*each.of, PLACED), [PLACED])

    def _are_placed(self, tokens: Collection[Token]) -> bool:
        """Whether something is on an accelerator, or is an object that is moved."""
        moved = (self._held.get((*each.of, PLACED)) for each in tokens if isinstance(each, Object))
        return PLACED in tokens or any(moved)

    def _run(self, scope: Scope, node: ast.stmt) -> None:
        if isinstance(node, _FUNCTIONS) and scope.owner is not None:
            self._run_method(scope, node)
        for each in inside(node):
            if isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and each.value is not None:
                targets = each.targets if isinstance(each, ast.Assign) else [each.target]
                for target in targets:
                    self._assign(scope, target, each.value)
            elif isinstance(each, (ast.For, ast.AsyncFor, ast.comprehension)):
                self._bind(scope, each.target, self._got_out(self._value(scope, each.iter)))
            elif isinstance(each, ast.withitem) and each.optional_vars is not None:
                self._bind(scope, each.optional_vars, self._value(scope, each.context_expr))
            elif isinstance(each, (ast.Return, ast.Yield, ast.YieldFrom)):
                self._give(scope, node, each)
            elif isinstance(each, ast.Expr):
                self._drop(scope, each.value)

    def _run_method(self, scope: Scope, node: ast.stmt) -> None:
        """What the class of a method builds is moved with its objects."""
        assert scope.owner is not None
        owner = Object((scope.file.path, scope.owner.lineno))
        receiver = receiver_of(node)
        if receiver:
            own = owner.of if is_decorated(node, "classmethod") else owner
            self._held.put((scope.file.path, node.lineno, receiver), [own])
        bases = (dotted_path(each) or "" for each in scope.owner.bases)
        if any(self.placing.is_of_library(scope.file.tree, each) for each in bases):
            self._moved([owner])
        if not self._are_placed([owner]):
            return
        self._moved(map(Object, self.known.bases.get(owner.of, ())))
        if node.name in CALLED_BY_TORCH:  # type: ignore[attr-defined]
            for name in positional_names(node)[1:]:  # type: ignore[arg-type]
                self._held.put((scope.file.path, node.lineno, name), [PLACED])
        for call in nodes_in(node, ast.Call):
            self._moved(self._value(scope, call))
        for each in assignments_in(node):
            if isinstance(each.targets[0], ast.Attribute):
                self._moved(self._value(scope, each.value))

    def _give(self, scope: Scope, node: ast.stmt, returned: ast.Return | ast.Yield | ast.YieldFrom) -> None:
        """What the innermost function around a `return` gives."""
        inner = [each for each in nodes_in(node, ast.FunctionDef) if is_below(returned, each)]
        nearest = max(inner, key=lambda each: each.lineno, default=node)
        if isinstance(nearest, _FUNCTIONS) and returned.value is not None:
            self._held.put((scope.file.path, nearest.lineno, _RESULT), self._value(scope, returned.value))

    def _drop(self, scope: Scope, node: ast.expr) -> None:
        """A statement that is one expression: what is moved there may be a Module, which moves in place."""
        tokens = self._value(scope, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and self.placing.may_move(scope, node):
            self._bind(scope, node.func.value, tokens)

    def _assign(self, scope: Scope, target: ast.expr, value: ast.expr) -> None:
        parts = (ast.Tuple, ast.List)
        if isinstance(target, parts) and isinstance(value, parts) and len(target.elts) == len(value.elts):
            for each, part in zip(target.elts, value.elts, strict=True):
                self._assign(scope, each, part)
        else:
            self._bind(scope, target, self._value(scope, value))

    def _bind(self, scope: Scope, target: ast.expr, tokens: Iterable[Token]) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._bind(scope, each, tokens)
        elif isinstance(target, (ast.Subscript, ast.Starred)):
            self._bind(scope, target.value, tokens)
        elif isinstance(target, ast.Name):
            if scope.owner is not None and scope.function is None:
                self._attributes.put(scope, target, tokens)
            self._held.put(place_of(scope, target.id), tokens)
        elif isinstance(target, ast.Attribute):
            self._attributes.put(scope, target, tokens)

    def _value(self, scope: Scope, node: ast.AST) -> frozenset[Token]:
        """What an expression may give; each is evaluated once a round, which comes again if what it reads grows."""
        given = self._given.get(node)
        if given is None:
            given = self._given[node] = self._evaluated(scope, node)
        return given

    def _evaluated(self, scope: Scope, node: ast.AST) -> frozenset[Token]:
        if isinstance(node, ast.Name):
            return self._named(scope, node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(scope, node)
        if isinstance(node, ast.Call):
            return self._called(scope, node)
        if isinstance(node, ast.Subscript):
            return frozenset(self._got_out(self._value(scope, node.value)))
        if isinstance(node, (ast.Compare, ast.IfExp)):
            parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node.left, *node.comparators]
        elif type(node) in CHILDREN:
            parts = [each for each in below([node]) if isinstance(each, ast.expr)]
        else:
            return _NOTHING
        return frozenset().union(*(self._value(scope, each) for each in parts))

    def _named(self, scope: Scope, name: str) -> frozenset[Token]:
        place = place_of(scope, name)
        found = set(self._held.get(place))
        if place[1]:
            nested = nodes_in(scope.function, ast.FunctionDef) if scope.function is not None else []
            found.update((place[0], each.lineno) for each in nested if each.name == name)
            return frozenset(found)
        return frozenset(found | self._bound(scope.file, name))

    def _bound(self, file: ModuleFile, path: str) -> set[Token]:
        """What a name of the top level stands for, in this file or in the one that it is imported from."""
        found: set[Token] = set()
        for home, each in self._running.bound(file, path):
            if isinstance(each, ast.ClassDef) and is_of_class(each, path):
                continue
            if isinstance(each, (*_FUNCTIONS, ast.ClassDef)):
                found.add((home.path, each.lineno))
            else:
                found |= self._held.get((home.path, 0, path.rpartition(".")[2]))
        return found

    def _attribute(self, scope: Scope, node: ast.Attribute) -> frozenset[Token]:
        if node.attr in ON_HOST:
            is_place = node.attr == "device" and self._are_placed(self._value(scope, node.value))
            return frozenset([PLACED] if is_place else ())
        path = dotted_path(node)
        of_module = self._bound(scope.file, path) if path and is_import(scope.file, path) else None
        if of_module:
            return frozenset(of_module)
        base = self._value(scope, node.value)
        if scope.owner is not None and is_super(node.value):
            return frozenset(self.known.methods_above((scope.file.path, scope.owner.lineno), node.attr))
        found = self.known.methods_of(base, node.attr)
        kept = self._attributes.get(scope, node)
        left = base if node.attr == "module" else [each for each in base if not isinstance(each, Object)]
        placed = [PLACED] if not found and self._are_placed(base) else []
        return frozenset({*found, *(kept or (() if found else left)), *placed})

    def _got_out(self, tokens: Iterable[Token]) -> set[Token]:
        """What comes out of something: an item, a round of a loop."""
        found = set(tokens)
        for each in list(found):
            if isinstance(each, Object):
                methods = (method for name in _GOT_OUT for method in self.known.methods_of([each], name))
                found.update(token for method in methods for token in self._held.get((*method, _RESULT)))
        return found

    def _called(self, scope: Scope, call: ast.Call) -> frozenset[Token]:
        given = [self._value(scope, each) for each in call.args]
        named = {each.arg: self._value(scope, each.value) for each in call.keywords}
        together: set[Token] = set().union(*given, *named.values())
        function = call.func
        if isinstance(function, ast.Call):
            self._drop(scope, function)  # ``net.to(device)(x)`` moves in place
        receiver = self._value(scope, function.value) if isinstance(function, ast.Attribute) else _NOTHING
        asked = self.placing.tensor_asked(call)
        if self.placing.may_move(scope, call) and (asked is None or self._are_placed(self._value(scope, asked))):
            self._moved(receiver)
            return frozenset({*receiver, PLACED})
        last, path = last_name(function), dotted_path(function) or ""
        if (last in ON_HOST and isinstance(function, ast.Attribute)) or is_put_on_host(call):
            return frozenset(receiver - {PLACED})
        if last in _OF_PARTS and isinstance(function, ast.Attribute) and not self.known.methods_of(receiver, last):
            return receiver | ({PLACED} if self._are_placed(receiver) else _NOTHING)
        if is_of_host(call):
            return _NOTHING
        if path in LOOKING_UP:
            return frozenset({*self._running.looked_up, *together})
        if is_super(call) and scope.owner is not None:
            return frozenset([Object((scope.file.path, scope.owner.lineno))])
        callee = self._value(scope, function)
        known = [each for each in callee if each != PLACED]
        results = self._hand_over(scope, call, known, given, named)
        if isinstance(function, ast.Attribute) and last in FILLING:
            self._bind(scope, function.value, together)
        if results is not None:  # what is placed, or a method of it, may be what is called as well
            return frozenset(results | (callee & {PLACED}))
        return frozenset(self._of_library(scope, call, receiver | callee, together))

    def _of_library(self, scope: Scope, call: ast.Call, receiver: frozenset[Token], together: set[Token]) -> set[Token]:
        """What a call gives of which the project knows nothing: it may be made of all that the call says."""
        if self.placing.may_make(scope, call):
            self._moved(receiver | together)
            return {*receiver, *together, PLACED}
        self._call_back(together)
        if PLACED in receiver or self.placing.is_of_library(scope.file.tree, dotted_path(call.func) or ""):
            self._moved(together)
        found = self._got_out(together | receiver)
        is_placing = self._are_placed(found)
        if last_name(call.func) not in OF_ITSELF:
            found -= {each for each in receiver if isinstance(each, Object)}
        return found | ({PLACED} if is_placing else set())

    def _hand_over(
        self,
        scope: Scope,
        call: ast.Call,
        callee: Iterable[Token],
        given: list[frozenset[Token]],
        named: dict[str | None, frozenset[Token]],
    ) -> set[Token] | None:
        """Give what a call says to what is called, and get what that gives; None where nothing of it is known."""
        results: set[Token] = set()
        is_known = False
        for each in callee:
            if isinstance(each, Object):
                methods = self.known.called_of(each)
                is_known = is_known or bool(methods)
                results.update([PLACED] if self._are_placed([each]) else ())
                for method in methods:
                    results |= self._call(method, given, named, is_bound=True)
            elif each in self.known.bases:
                is_known = True
                results.add(Object(each))
                made = self.known.methods_of([each], "__init__")
                for method in made:
                    self._call(method, given, named, is_bound=True)
                if not made:
                    self._attributes.fill(each, given, named)
            elif each in self.known.scope_of:
                is_known = True
                is_bound = self.known.is_method(each) and not self._is_of_class(scope, call.func)
                results |= self._call(each, given, named, is_bound=is_bound)
        return results if is_known else None

    def _is_of_class(self, scope: Scope, called: ast.expr) -> bool:
        """Whether a method is read of its class: ``Net.forward(net, x)``."""
        return isinstance(called, ast.Attribute) and any(
            each in self.known.bases for each in self._value(scope, called.value)
        )

    def _call(
        self,
        function: Token,
        given: list[frozenset[Token]],
        named: dict[str | None, frozenset[Token]],
        *,
        is_bound: bool,
    ) -> set[Token]:
        self._held.calls_left -= 1
        if function not in self.known.scope_of:
            return set()
        scope, node = self.known.scope_of[function]
        assert isinstance(node, _FUNCTIONS)
        if self._held.unit is not None:
            self.calls.add(self._units[self._held.unit][0], function)
        home = scope.file.path, 0 if scope.function is None else scope.function.lineno
        for name, tokens in handed_to(node, given, named, is_bound=is_bound):
            self._held.put((*home, name), tokens)
        return set(self._held.get((*function, _RESULT)))

    def _call_back(self, together: set[Token]) -> None:
        """A library is given functions and objects, and may call them with the rest."""
        if PLACED not in together:
            return
        for each in together:
            methods: list[Token] = [each] if each in self.known.scope_of else []
            for method in self.known.called_of(each) if isinstance(each, Object) else methods:
                self._held.calls_left -= 1
                scope, node = self.known.scope_of.get(method, (None, None))  # type: ignore[arg-type]
                if scope is not None and isinstance(node, _FUNCTIONS):
                    for name in positional_names(node)[self.known.is_method(method) :]:
                        self._held.put(place_of(scope, name), [PLACED])
