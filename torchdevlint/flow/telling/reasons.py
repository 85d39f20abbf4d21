"""Why something is not known: names are followed back through what binds them, to where the knowledge ends."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from torchdevlint.flow.recording import name_of
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.limits import calls_followed
from torchdevlint.flow.state.machine import Machine
from torchdevlint.flow.state.others import Imported, is_elsewhere
from torchdevlint.flow.state.values import Cls, Func, Library, Obj, Ref, Tensor, Unknown
from torchdevlint.flow.telling.held import Held
from torchdevlint.flow.telling.places import Places
from torchdevlint.flow.telling.values import tell
from torchdevlint.model import Note
from torchdevlint.source.nodes import own_nodes_in

_MOST_HOPS = 6
_LONGEST = 48


class Reasons:
    """Why expressions of one file that was run are not known."""

    def __init__(self, held: Held, machine: Machine) -> None:
        self.held = held
        self.recording = held.recording
        self.machine = machine
        self.places = Places(held.recording, machine.tree)

    def of(self, node: ast.AST) -> Note:
        """The reason for a node of which nothing, or no place, is known; the span is where the knowledge ends."""
        said, at = self._why(node, frozenset())
        return Note("; ".join(dict.fromkeys(said)), self.machine.reading.source.span(at))

    def _why(self, node: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        if node in passed or len(passed) >= _MOST_HOPS:
            return [], node
        passed |= {node}
        if self.held.one(node) is None and (not _is_stored(node) or self._is_skipped(node)):
            return [self._not_run(node)], node
        if _is_stored(node):
            return self._by_binding(node, passed)
        find = _FINDERS.get(type(node))
        return (find(self, node, passed) if find is not None else None) or self._by_parts(node, passed)

    def _then(self, said: str, node: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        more, at = self._why(node, passed)
        return [said, *more], at

    def _by_parts(self, node: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        """The first part of an expression that is not known, or that its parts do not tell."""
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr) and self.held.lacks(part) and not isinstance(part, ast.Constant):
                return self._why(part, passed)
        return [f"what {self.code(node)} gives is not known"], node

    def _name(self, node: ast.Name, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST] | None:
        return self._by_bindings(node.id, node, passed)

    def _by_bindings(self, name: str, node: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        bound = self.places.bindings(name, node)
        if not bound:
            return [f"nothing in this file binds `{name}`"], node
        unknown = next((each for each in reversed(bound) if self.held.lacks(each)), None)
        if unknown is not None:
            return self._why(unknown, passed)
        if len(bound) == 1:
            return [f"`{name}` may have been changed since line {_row(bound[0])}"], node
        return [self._disagreement(name, bound)], bound[-1]

    def _disagreement(self, name: str, bound: list[ast.AST]) -> str:
        """What each of several bindings, none of which is surely the last one, makes of a name."""
        held = [(each, tell(self.held.one(each) or Unknown(), self.machine.reading)) for each in bound]
        said = ", ".join(f"{told.device or told.description} (line {_row(each)})" for each, told in held)
        test = self._common_if(bound)
        if test is not None:
            return f"the arms of the `if` in line {test.lineno} disagree on `{name}`: {said}"
        return f"`{name}` is bound in several places that disagree: {said}"

    def _common_if(self, bound: list[ast.AST]) -> ast.If | None:
        common = [each for each in self.places.outward(bound[0]) if isinstance(each, ast.If)]
        for each in bound[1:]:
            around = set(self.places.outward(each))
            common = [one for one in common if one in around]
        return common[0] if common else None

    def _by_binding(self, target: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        """Why what a target is bound to is not known."""
        name = name_of(target) or self.text(target)
        binder = self.recording.binder.get(target)
        if isinstance(target, ast.arg):
            return [self._argument(target, binder)], target
        if isinstance(binder, (ast.For, ast.AsyncFor)):
            return self._from_source(f"`{name}` is what {self.code(binder.iter)} gives", binder.iter, passed)
        if isinstance(binder, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            source = next((one.iter for one in binder.generators if target in set(ast.walk(one.target))), binder)
            return self._from_source(f"`{name}` is what {self.code(source)} gives", source, passed)
        if isinstance(binder, (ast.With, ast.AsyncWith)):
            item = next(each for each in binder.items if target in set(ast.walk(each)))
            return [f"`{name}` is what {self.code(item.context_expr)} gives when it is entered"], item.context_expr
        if isinstance(binder, ast.ExceptHandler):
            return [f"`{name}` is an exception"], binder
        if isinstance(binder, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and binder.value is not None:
            whole = not isinstance(binder, ast.Assign) or any(target is each for each in binder.targets)
            said = f"`{name}` {'is' if whole else 'is a part of'} {self.code(binder.value)} (line {_row(target)})"
            return self._from_source(said, binder.value, passed)
        if isinstance(binder, ast.AugAssign):
            return self._from_source(f"`{name}` is changed by {self.code(binder.value)}", binder.value, passed)
        if isinstance(target, ast.alias):
            return [f"`{name}` is imported, and what it is, is not known"], target
        return [f"what binds `{name}` gives nothing that is known"], target

    def _from_source(self, said: str, source: ast.AST, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        if self.held.lacks(source):
            return self._then(said, source, passed)
        told = tell(self.held.one(source) or Unknown(), self.machine.reading)
        return [f"{said}, which is {told.description}; more is not known of it"], source

    def _argument(self, target: ast.arg, function: ast.AST | None) -> str:
        name = getattr(function, "name", "") or "a lambda"
        of = f"`{target.arg}` is an argument of {f'`{name}`' if name != 'a lambda' else name}"
        if not isinstance(self.held.one(target) or Unknown(), Unknown):
            return f"{of}, and whoever calls it decides where that is"
        if target.annotation is not None:
            return f"{of}, and its annotation {self.code(target.annotation)} says nothing of places"
        return f"{of}, and nothing says what it is"

    def _call(self, node: ast.Call, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST] | None:
        callee, called = self.held.one(node.func), self.code(node.func, "()")
        if isinstance(callee, Ref):
            return [f"{called} {_of_library(callee)}"], node
        if isinstance(callee, Func):
            return self._returned(callee, called, node, passed)
        if isinstance(node.func, ast.Attribute):
            receiver = self.held.one(node.func.value)
            if receiver is None or isinstance(receiver, Unknown):
                return self._then(f"{called} is a method of {self.code(node.func.value)}", node.func.value, passed)
            told = tell(receiver, self.machine.reading)
            if isinstance(receiver, Tensor) and receiver.device.describe() == "an unknown device":
                return self._why(node.func.value, passed)
            return [f"what `.{node.func.attr}()` of {told.description} gives is not known"], node
        if self.held.lacks(node.func):
            return self._then(f"{called} calls something that is not known", node.func, passed)
        return [f"what {called} gives is not known"], node

    def _returned(
        self, function: Func, called: str, node: ast.AST, passed: frozenset[ast.AST]
    ) -> tuple[list[str], ast.AST]:
        """Why what a function of the project gives is not known."""
        if not function.plain:
            return [f"{called} has a decorator that may change what it gives"], node
        if is_elsewhere(function):
            return [f"what {called}, of another file, gives for these arguments is not known"], node
        if isinstance(function.node, ast.Lambda):
            return self._why(function.node.body, passed)
        given = [each.value for each in own_nodes_in(function.node, ast.Return) if each.value is not None]
        given.sort(key=_row)
        unknown = next((each for each in given if self.held.lacks(each)), None)
        if unknown is not None:
            said = f"{called} returns {self.code(unknown)} (line {_row(unknown)})"
            return self._then(said, unknown, passed)
        if function.node in self.machine.active or not given:
            return [f"what {called} gives is not known"], node
        return [f"{called} returns what depends on its arguments"], node

    def _attribute(self, node: ast.Attribute, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST] | None:
        path = dotted_path(node)
        if path is not None and self.places.bindings(path, node):
            return self._by_bindings(path, node, passed)
        receiver = self.held.one(node.value)
        if receiver is None or isinstance(receiver, Unknown):
            return self._then(f"{self.code(node)} is an attribute of {self.code(node.value)}", node.value, passed)
        if isinstance(receiver, Obj):
            return self._of_object(node, receiver, passed)
        if isinstance(receiver, (Ref, Cls, Library)):
            return [f"what `{node.attr}` of {tell(receiver, self.machine.reading).description} is, is not known"], node
        return None

    def _of_object(self, node: ast.Attribute, receiver: Obj, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST]:
        info = receiver.info
        targets = [each for each in self.recording.binder if _stores(each, node.attr) and self._is_in(each, info.node)]
        targets.sort(key=_row)
        unknown = next((each for each in targets if self.held.lacks(each)), None)
        if unknown is not None:
            return self._why(unknown, passed)
        if len(targets) > 1:
            return [self._disagreement(f"self.{node.attr}", targets)], targets[-1]
        if targets:
            return [f"`{node.attr}` of `{info.name}` may be changed elsewhere"], targets[0]
        if not info.resolved:
            bases = ", ".join(f"`{each}`" for each in info.base_names)
            return [f"`{node.attr}` comes from a base of `{info.name}` that is not known ({bases})"], info.node
        return [f"no method of `{info.name}` assigns `{node.attr}`"], node

    def _is_in(self, node: ast.AST, around: ast.AST) -> bool:
        return any(each is around for each in self.places.outward(node))

    def _subscript(self, node: ast.Subscript, passed: frozenset[ast.AST]) -> tuple[list[str], ast.AST] | None:
        if self.held.lacks(node.value):
            return self._then(f"{self.code(node)} is a part of {self.code(node.value)}", node.value, passed)
        told = tell(self.held.one(node.value) or Unknown(), self.machine.reading)
        said = f"{self.code(node.value)} is {told.description}; what is under {self.code(node.slice)} is not known"
        return [said], node

    def _not_run(self, node: ast.AST) -> str:
        """Why nothing was seen of an expression."""
        if not self._is_skipped(node):
            return f"{self.code(node)} is not looked at where it stands"
        function = self.places.function_around(node)
        body = [] if function is None or isinstance(function, ast.Lambda) else function.body
        if function is None or any(each in self.recording.ran for each in body):
            return f"no path comes to line {_row(node)}"
        if self.machine.calls_left <= 0:
            return f"there are more calls in this file than are followed ({calls_followed(self.machine.tree)})"
        name = getattr(function, "name", None)
        return f"nothing here calls the {'lambda' if name is None else f'function `{name}`'}, which is not run alone"

    def _is_skipped(self, node: ast.AST) -> bool:
        """Whether no path came to the statement that a node stands in, or the lambda around it was never run."""
        function = self.places.function_around(node)
        if isinstance(function, ast.Lambda):
            return not self.held.of(function.body) if not isinstance(node, ast.arg) else True
        return self.places.statement_of(node) not in self.recording.ran

    def code(self, node: ast.AST, behind: str = "") -> str:
        """The text of a node in backticks, in one line, with its middle left out if it is long."""
        line = " ".join(self.text(node).split())
        if len(line) > _LONGEST:
            half = (_LONGEST - 3) // 2
            line = f"{line[:half]}...{line[-half:]}"
        return f"`{line}{behind}`"

    def text(self, node: ast.AST) -> str:
        return self.machine.reading.source.segment(node)


def _is_stored(node: ast.AST) -> bool:
    return not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store)


def _stores(target: ast.AST, name: str) -> bool:
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    return own and getattr(target, "attr", None) == name


def _of_library(callee: Ref) -> str:
    root = callee.name.partition(".")[0]
    if isinstance(callee, Imported):
        return "is of another file of the project, and what it gives is not known"
    if root == "torch":
        return "gives something whose kind or place is not known"
    if root == "builtins" or root in sys.stdlib_module_names or root == "numpy":
        return "gives nothing that has a device by itself"
    return f"is of a library that is not known (`{root}`)" if root else "is of a package that is not known"


def _row(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


_FINDERS: dict[type, Callable[..., tuple[list[str], ast.AST] | None]] = {
    ast.Name: Reasons._name,
    ast.Call: Reasons._call,
    ast.Attribute: Reasons._attribute,
    ast.Subscript: Reasons._subscript,
}
