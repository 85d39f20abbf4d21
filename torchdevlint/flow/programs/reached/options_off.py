"""Arms of tests that nothing in an application takes: ``if debug:``, where each call leaves `debug` as False.

What a parameter may be is what the calls by the name of its function give it, or else its default, and an attribute is
what its ``__init__`` makes of one. A call of the top level of a program is a setting, which its user may change.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable

from torchdevlint.flow.programs.texts.all_calls import AllCalls
from torchdevlint.flow.programs.texts.asked_tests import Place, asked_at, asked_before, is_bound_before
from torchdevlint.flow.programs.texts.project_calls import CalledPlace, ProjectCalls, around, called_by
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.call_sites import argument_of
from torchdevlint.flow.scope.names import (
    dotted_path,
    given_by_default,
    has_stars,
    last_name,
    parameter_names,
    public_path,
)
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import keyword_of, names_bound_in, nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_HOPS = 4
_KEEPING_NOTHING = frozenset("object torch.nn.Module abc.ABC torch.utils.data.Dataset".split())
"""Bases that two classes may have, and have nothing to do with each other."""
_COMPARED: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Eq: operator.eq,
    ast.Is: lambda left, right: left is right,
    ast.NotEq: operator.ne,
    ast.IsNot: lambda left, right: left is not right,
    ast.Lt: operator.lt,  # type: ignore[dict-item]
    ast.LtE: operator.le,  # type: ignore[dict-item]
    ast.Gt: operator.gt,  # type: ignore[dict-item]
    ast.GtE: operator.ge,  # type: ignore[dict-item]
}
_Values = frozenset[object]
_Site = tuple[ModuleFile, ast.Call]


class OptionsOff:
    """The options of the functions of one file that nothing in its project turns on."""

    def __init__(self, own: ModuleFile, project: Project) -> None:
        self._own = own
        self._calls = ProjectCalls(own, project)
        self._all_calls = AllCalls(own, project, self._calls)

    def hold(self, at: Span) -> bool:
        """Whether a place is in an arm that no call of its function, as far as they are in the project, comes to.

        So is what is only called, or built, in such arms.
        """
        return not self._own.path.endswith(NOTEBOOK) and self._is_off(self._own, (at.row, at.column - 1), _MOST_HOPS)

    def coming_to(self, at: Span) -> tuple[CalledPlace, list[_Site]] | None:
        """The function that holds a place, and the calls of it that may come there: not those that take another arm.

        None where no function holds it, or several do, and where not all calls are seen.
        """
        held = around(self._own, at.row)
        sites = self._sites(held[0]) if len(held) == 1 else None
        if not sites:
            return None
        tests = asked_at(held[0][1], (at.row, at.column - 1))
        return held[0], [
            each
            for each in sites
            if not any(self._truth(test, held[0], _MOST_HOPS, each) is (not outcome) for test, outcome in tests)
        ]

    def _is_off(self, file: ModuleFile, spot: Place, hops: int) -> bool:
        if hops == 0:
            return False
        held = around(file, spot[0])
        if any(self._is_never_so(asked_at(place[1], spot), place, hops) for place in held):
            return True
        names = {called_by(function, owner) for _, function, owner in held[-1:]}
        names.update(owner.name for _, _, owner in held[-1:] if owner is not None)
        return any(self._is_only_called_off(file.path, each, hops - 1) for each in sorted(filter(None, names)))

    def _is_never_so(self, tests: list[tuple[ast.expr, bool]], place: CalledPlace, hops: int) -> bool:
        """Whether tests do not come out as they have to: one of them on all calls, or one or the other on each."""
        if any(self._truth(test, place, hops) is (not outcome) for test, outcome in tests):
            return True
        are_several = len(tests) > 1 or any(nodes_in(test, ast.BoolOp) for test, _ in tests)
        sites = self._sites(place) if are_several else None
        return bool(sites) and all(
            any(self._truth(test, place, hops, each) is (not outcome) for test, outcome in tests)
            for each in sites or ()
        )

    def _sites(self, place: CalledPlace) -> list[_Site] | None:
        """The calls of a function; of ``forward`` those of all objects. None where they are not seen."""
        _, function, owner = place
        if owner is not None and function.name == "forward":
            return self._calls.of_objects
        return self._all_calls.of(place)

    def _is_only_called_off(self, home: str, name: str, hops: int) -> bool:
        """Whether there are calls of a name, all of them in arms that nothing takes."""
        sites = self._calls.of(home, name)
        return bool(sites) and all(
            self._is_off(file, (call.lineno, call.col_offset), hops) for file, call in sites or ()
        )

    def _truth(self, test: ast.expr, place: CalledPlace, hops: int, site: _Site | None = None) -> bool | None:
        """How a test comes out on all calls, or on one; None where that is not known, or depends on the call."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            found = self._truth(test.operand, place, hops, site)
            return None if found is None else not found
        if isinstance(test, ast.BoolOp):
            ends = isinstance(test.op, ast.Or)
            each = [self._truth(value, place, hops, site) for value in test.values]
            return ends if ends in each else None if None in each else not ends
        if isinstance(test, ast.Compare):
            return self._compared(test, place, hops, site)
        return _agreed(self._values(test, place, hops, site), bool)

    def _compared(self, test: ast.Compare, place: CalledPlace, hops: int, site: _Site | None) -> bool | None:
        compare, right = _COMPARED.get(type(test.ops[0])), test.comparators[0]
        if len(test.ops) > 1 or compare is None or not isinstance(right, ast.Constant):
            return None
        try:
            return _agreed(self._values(test.left, place, hops, site), lambda left: compare(left, right.value))
        except TypeError:
            return None

    def _values(self, node: ast.expr, place: CalledPlace, hops: int, site: _Site | None = None) -> _Values | None:
        """All literals that an expression may be; None where it may be something else."""
        _, function, owner = place
        if isinstance(node, ast.Constant):
            return frozenset({node.value})
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            value = node.operand.value
            return frozenset({-value}) if isinstance(value, (int, float)) else None
        if isinstance(node, ast.Name) and node.id in parameter_names(function):
            is_given = hops > 0 and not is_bound_before(function, node.id, node)
            return self._given(node.id, place, hops, site) if is_given else None
        if not isinstance(node, ast.Attribute) or not hops:
            return None
        if owner is not None and isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._kept(node.attr, place, hops)
        return self._asked_by_callers(node.value, node.attr, place)

    def _asked_by_callers(self, holder: ast.expr, option: str, place: CalledPlace) -> _Values | None:
        """What an option of an argument is where each call is made below a test of it: ``if args.mode == "train":``.

        The argument may be kept by ``__init__``.
        """
        file, function, owner = place
        path = dotted_path(holder) or ""
        if owner is not None and path.startswith("self."):
            init = _init_of(owner)
            values = [] if init is None else values_by_path(init).get(path, [])
            if init is None or len(values) != 1:
                return None
            function, path = init, dotted_path(values[0]) or ""
        called, files = called_by(function, owner), self._calls.files_saying(option)
        is_given = path in parameter_names(function) and not _is_bound_in(function, path)
        if called is None or files is None or not is_given or any(_sets(each.tree, option) for each in files):
            return None
        sites = self._calls.of(file.path, called) or ()
        given = [
            (site, call, argument_of(call, function, path, is_bound=_is_bound(function, owner))) for site, call in sites
        ]
        found = {
            _asked_before_call(site, call, f"{dotted_path(each) if each else ''}.{option}")
            for site, call, each in given
        }
        return None if None in found or not found else frozenset(found)

    def _kept(self, name: str, place: CalledPlace, hops: int) -> _Values | None:
        """What an attribute holds that only ``__init__`` sets, once, and nothing else in the project sets or says."""
        file, _, owner = place
        init = None if owner is None else _init_of(owner)
        if init is None:
            return None
        values = values_by_path(init).get(f"self.{name}", [])
        files = self._calls.files_saying(name)
        if len(values) != 1 or files is None or sum(_sets(each.tree, name, owner) for each in files) != 1:
            return None
        return self._values(values[0], (file, init, owner), hops - 1)

    def _given(self, name: str, place: CalledPlace, hops: int, only: _Site | None = None) -> _Values | None:
        """What all calls of a function give a parameter, or one of them."""
        _, function, owner = place
        default = dict(given_by_default(function.args)).get(name)
        if owner is not None and function.name == "forward":
            return self._given_to_objects(name, place, default, hops, only)
        found: set[object] = set()
        for site, call in (self._all_calls.of(place) or ()) if only is None else (only,):
            given = argument_of(call, function, name, is_bound=_is_bound(function, owner))
            there = next(iter(around(site, call.lineno)), None)
            if has_stars(call):
                values = self._handed_on(call, name, there, default, hops - 1) if given is None else None
            elif given is not None and there is None and _is_same_literal(given, default):
                values = self._said(default, place, hops - 1)
            else:
                values = self._said(given or default, place if given is None else there, hops - 1)
            if values is None:
                return None
            found |= values
        return frozenset(found) or None

    def _given_to_objects(
        self, name: str, place: CalledPlace, default: ast.expr | None, hops: int, only: _Site | None
    ) -> _Values | None:
        """What an option of ``forward`` may be: its default, and what calls of objects give it, or one of them.

        Whatever comes at its place without a name may be for another Module, unless it is a literal, or called so.
        """
        sites = self._calls.of_objects
        if sites is None or not isinstance(default, ast.Constant) or self._calls.may_be_key(name):
            return None
        found: set[object] = {default.value} if only is None else set()
        for site, call in sites if only is None else (only,):
            given = argument_of(call, place[1], name, is_bound=True)
            is_named = any(each.arg == name for each in call.keywords) or isinstance(given, ast.Constant)
            if given is None or not (is_named or last_name(given) == name):
                found.add(default.value)
                continue
            values = self._said(given, next(iter(around(site, call.lineno)), None), hops - 1)
            if values is None:
                return None
            found |= values
        return frozenset(found)

    def _handed_on(
        self, call: ast.Call, name: str, place: CalledPlace | None, default: ast.expr | None, hops: int
    ) -> _Values | None:
        """What a call leaves to the ``**kwargs`` of the function around it, whose calls name it, or leave it."""
        if place is None or not isinstance(default, ast.Constant) or hops <= 0:
            return None
        if not _hands_keywords_on(call, place[1]):
            return None
        file, function, owner = place
        if name in parameter_names(function):
            return frozenset({default.value})
        called = called_by(function, owner)
        sites = self._calls.of(file.path, called) if called is not None else None
        found: set[object] = set()
        for site, each in sites or ():
            there = next(iter(around(site, each.lineno)), None)
            given = keyword_of(each, name)
            if given is None and has_stars(each):
                values = self._handed_on(each, name, there, default, hops - 1)
            elif given is None:
                values = frozenset({default.value})
            else:
                values = self._said(given, there, hops - 1)
            if values is None:
                return None
            found |= values
        return frozenset(found) or None

    def _said(self, given: ast.expr | None, there: CalledPlace | None, hops: int) -> _Values | None:
        return None if given is None or there is None else self._values(given, there, hops)


def _is_same_literal(given: ast.expr, default: ast.expr | None) -> bool:
    """Whether a call says what holds if it says nothing: that is no setting which its user has made."""
    if not isinstance(given, ast.Constant) or not isinstance(default, ast.Constant):
        return False
    return type(given.value) is type(default.value) and given.value == default.value


def _init_of(owner: ast.ClassDef) -> FunctionNode | None:
    found = next((each for each in owner.body if getattr(each, "name", "") == "__init__"), None)
    return found if isinstance(found, _FUNCTIONS) else None


def _asked_before_call(file: ModuleFile, call: ast.Call, path: str) -> str | None:
    """The text that what goes by a path is known to be equal to where a call is made; None where nothing asks it."""
    bodies = [file.tree.body, *(function.body for _, function, _ in around(file, call.lineno))]
    for test, outcome in (asked for body in bodies for asked in asked_before(body, call.lineno)):
        is_equal = outcome and isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq) and len(test.ops) == 1
        if is_equal and isinstance(test, ast.Compare) and dotted_path(test.left) == path:
            right = test.comparators[0]
            return right.value if isinstance(right, ast.Constant) and isinstance(right.value, str) else None
    return None


def _hands_keywords_on(call: ast.Call, function: FunctionNode) -> bool:
    """Whether the only star of a call is that of what a function is given by other names, and does no more with."""
    kept = function.args.kwarg
    handed = [each.value for each in call.keywords if each.arg is None]
    if kept is None or len(handed) != 1 or any(isinstance(each, ast.Starred) for each in call.args):
        return False
    read = [each for each in nodes_in(function, ast.Name) if each.id == kept.arg]
    calls = nodes_in(function, ast.Call)
    given = [each.value for other in calls for each in other.keywords if each.arg is None]
    return handed[0] in read and all(each in given for each in read)


def _agreed(values: _Values | None, is_so: Callable[[object], bool]) -> bool | None:
    found = None if values is None else {bool(is_so(each)) for each in values}
    return found.pop() if found is not None and len(found) == 1 else None


def _is_bound(function: FunctionNode, owner: ast.ClassDef | None) -> bool:
    return owner is not None and not any(last_name(each) == "staticmethod" for each in function.decorator_list)


def _is_bound_in(function: FunctionNode, name: str) -> bool:
    return name in names_bound_in(function)


def _sets(tree: ast.Module, name: str, owner: ast.ClassDef | None = None) -> int:
    """How often a file sets an attribute of a name, or says it as a text, by which it may be set.

    What a class sets of `self` that has nothing to do with the `owner` of the attribute is another one.
    """
    others = [each for each in nodes_in(tree, ast.ClassDef) if each is not owner and _is_plain(each, tree, owner)]
    held = [node for each in others for node in nodes_in(each, ast.Attribute)]
    is_alone = owner is not None and _is_plain(owner)
    apart = {id(each) for each in held if dotted_path(each) == f"self.{name}"} if is_alone else ()
    found = [each for each in nodes_in(tree, ast.Attribute) if each.attr == name and id(each) not in apart]
    set_there = sum(not isinstance(each.ctx, ast.Load) for each in found)
    return set_there + sum(each.value == name for each in nodes_in(tree, ast.Constant))


def _is_plain(
    owner: ast.ClassDef, tree: ast.Module | None = None, other: ast.ClassDef | None = None, hops: int = _MOST_HOPS
) -> bool:
    """Whether a class is derived from what keeps nothing else for it, so that it has its attributes for itself.

    So are classes of its file that are derived so, but for `other`.
    """
    classes = {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)} if tree is not None else {}
    bases = [(public_path(each), classes.get(dotted_path(each) or "")) for each in owner.bases]
    return all(
        path in _KEEPING_NOTHING
        or (base not in (None, other, owner) and hops > 0 and _is_plain(base, tree, other, hops - 1))
        for path, base in bases
    )
