"""What a method builds of a container attribute, and containers of modules that ``__init__`` was given as a whole.

The classes of these modules are not known, so several things have to agree: what they are tested for, and that the
class calls them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from msgspec import Struct

from torchdevlint.flow.kinds.element_calls import calls_elements
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import annotation_name, element_annotation, without_none
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.flow.state.classes import NO_MODULE, ClassInfo, is_module_class
from torchdevlint.flow.state.others import OtherFiles
from torchdevlint.flow.state.values import Cls
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignments_in, inside, nodes_in, once_a_node, parts_of_tuple

OF_MODULES = regex(r"(?:\w+_)?(?:modules|models|networks|nets|layers|blocks|encoders|decoders|experts)")
"""Arguments that hold modules; a second witness only."""
_COPIES = frozenset({"list", "tuple", "dict", "collections.OrderedDict"})
_LISTS = frozenset({"list", "List", "tuple", "Tuple"})
_DICTS = frozenset({"dict", "Dict", "OrderedDict"})
_ADDS = frozenset({"append", "insert", "add", "appendleft"})
_MAX_NAMES = 6
"""How many local names an element is followed through."""
_READS = frozenset(
    "len range list tuple dict enumerate zip any all sum isinstance print str max min set sorted".split()
)


class Built(Struct, frozen=True):
    """One method and what it builds; `info` is the class, and `others` tells of classes of other files."""

    info: ClassInfo
    method: FunctionNode
    others: OtherFiles | None = None

    def added_to(self, path: str) -> list[ast.expr] | None:
        """What is put into the container that `path` names, after it was made; None if some of that is not clear."""
        found: list[ast.expr] = []
        for call in nodes_in(self.method, ast.Call):
            if not isinstance(call.func, ast.Attribute) or not call.args or dotted_path(call.func.value) != path:
                continue
            if call.func.attr in _ADDS:
                found.append(call.args[-1])
            elif call.func.attr in ("extend", "update"):
                more = self.elements(call.args[0])
                if more is None:
                    return None
                found += more
        for node in assignments_in(self.method):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and dotted_path(target.value) == path:
                    found.append(node.value)
        for grown in nodes_in(self.method, ast.AugAssign):
            if dotted_path(grown.target) == path:
                more = self.elements(grown.value)
                if more is None:
                    return None
                found += more
        return found

    def elements(self, node: ast.expr, names: int = _MAX_NAMES) -> list[ast.expr] | None:
        """The expressions that the elements of a container come from; None if it is not clear what they are."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._all([each.value if isinstance(each, ast.Starred) else [each] for each in node.elts], names)
        if isinstance(node, ast.Dict):
            return None if None in node.keys else node.values
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return [node.elt]
        if isinstance(node, ast.DictComp):
            return [node.value]
        if isinstance(node, ast.IfExp):
            return self._all([node.body, node.orelse], names)
        if isinstance(node, ast.BinOp):
            return self._all([node.left, node.right] if isinstance(node.op, ast.Add) else [node.left], names)
        if isinstance(node, ast.Call) and public_path(node.func) in _COPIES and not node.keywords:
            return self.elements(node.args[0], names) if node.args else []
        if not isinstance(node, ast.Name) or not names or self.is_parameter(node.id):
            return None
        bound, added = self.bound_to(node.id), self.added_to(node.id)
        made = self._all(list(bound), names - 1) if bound else None
        return None if made is None or added is None else made + added

    def _all(self, parts: list[ast.expr | list[ast.expr]], names: int) -> list[ast.expr] | None:
        found: list[ast.expr] = []
        for part in parts:
            more = part if isinstance(part, list) else self.elements(part, names)
            if more is None:
                return None
            found += more
        return found

    def bound_to(self, name: str) -> list[ast.expr]:
        """What is assigned to a local name or an attribute."""
        return values_by_path(self.method).get(name, [])

    def plain(self, path: str) -> list[ast.expr]:
        """What is assigned to an attribute and is no container that registers what is in it."""
        return [each for each in self.bound_to(path) if not registers(each)]

    def is_parameter(self, name: str) -> bool:
        return self.parameter(name) is not None

    def parameter(self, name: str) -> ast.arg | None:
        spec = self.method.args
        return next((each for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs) if each.arg == name), None)

    def made(self, node: ast.expr, names: int = _MAX_NAMES) -> Iterator[ast.expr]:
        """The expressions that make an element, behind local names and conditions; None is not one."""
        if isinstance(node, ast.IfExp):
            yield from self.made(node.body, names)
            yield from self.made(node.orelse, names)
        elif isinstance(node, ast.Name) and names and (bound := self.bound_to(node.id)):
            for each in bound:
                yield from self.made(each, names - 1)
        elif not (isinstance(node, ast.Constant) and node.value is None):
            yield node


def registers(value: ast.expr | None) -> TypeGuard[ast.Call]:
    """Whether it makes `nn.ModuleList`, or another Module that registers what it holds."""
    return isinstance(value, ast.Call) and last_name(value.func) in torch_api.CONTAINER_MODULES


def holds_given_modules(info: ClassInfo, attribute: str) -> str | None:
    """``list`` or ``dict`` if the attribute is a plain container of modules that ``__init__`` was given.

    That it is plain is said by a copy, an annotation or a test; that its elements are modules by an annotation or a
    test for a Module class, or for a base of this class, which a forward of its own makes a Module; where nothing says
    what they are, by the name of the argument, as they are called like layers.
    """
    init = info.methods.get("__init__")
    if init is None:
        return None
    built = Built(info, init)
    values = built.plain(f"self.{attribute}")
    if len(values) != 1:
        return None
    source, kind = _copied(values[0])
    parameter = built.parameter(source) if source is not None else None
    if parameter is None or source is None:
        return None
    kind = kind or _container_of(parameter.annotation) or _tested_kind(init, source)
    if kind is None or not _has_module_elements(info, init, parameter) or not calls_elements(info, attribute):
        return None
    return None if is_handed_on(built, f"self.{attribute}", values[0]) else kind


def source_of(node: ast.expr) -> str | None:
    """The name of the container whose elements are kept: `layers` of ``layers``, ``list(layers)``, ``layers or []``."""
    return _copied(node)[0]


def _copied(node: ast.expr) -> tuple[str | None, str | None]:
    """The name behind ``list(x)``, ``[*x]`` and ``[each for each in x]``, and the kind of the copy if it is one."""
    node = _where_given(node)
    if isinstance(node, ast.Name):
        return node.id, None
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
        name = public_path(node.func)
        return (node.args[0].id, "dict" if "ict" in name else "list") if name in _COPIES else (None, None)
    if isinstance(node, ast.List) and len(node.elts) == 1 and isinstance(node.elts[0], ast.Starred):
        return dotted_path(node.elts[0].value), "list"
    if isinstance(node, ast.ListComp) and isinstance(node.elt, ast.Name) and len(node.generators) == 1:
        loop = node.generators[0]
        return (dotted_path(loop.iter), "list") if dotted_path(loop.target) == node.elt.id else (None, None)
    return None, None


def _where_given(node: ast.expr) -> ast.expr:
    """`x` of ``x or []`` and ``x if x is not None else []``: what is kept where there is anything."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
        return node.values[0] if _is_empty(node.values[1]) else node
    if isinstance(node, ast.IfExp) and _is_empty(node.orelse):
        return node.body
    return node.orelse if isinstance(node, ast.IfExp) and _is_empty(node.body) else node


def _is_empty(node: ast.expr) -> bool:
    """``[]``, ``{}``, ``()``, ``list()`` and ``dict()``."""
    if isinstance(node, ast.Call):
        return public_path(node.func) in _COPIES and not node.args and not node.keywords
    return (isinstance(node, (ast.List, ast.Tuple)) and not node.elts) or (isinstance(node, ast.Dict) and not node.keys)


def _container_of(annotation: ast.expr | None) -> str | None:
    """The kind of plain container that an annotation says; a ModuleList is a sequence, but no list."""
    annotation = without_none(annotation)
    if not isinstance(annotation, ast.Subscript):
        return None
    name = annotation_name(annotation.value)
    return "list" if name in _LISTS else "dict" if name in _DICTS else None


def _tested_kind(init: ast.AST, name: str) -> str | None:
    """The kind of container without which ``__init__`` raises: ``if not isinstance(x, list): raise``."""
    tests = [node.test for node in nodes_in(init, ast.If) if node.body and isinstance(node.body[-1], ast.Raise)]
    for test in tests:
        for node in inside(test):
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
                kind = _isinstance_of(node.operand, name) & (_LISTS | _DICTS)
                if kind:
                    return "dict" if kind & _DICTS else "list"
    for check in nodes_in(init, ast.Assert):
        kind = _isinstance_of(check.test, name) & (_LISTS | _DICTS)
        if kind:
            return "dict" if kind & _DICTS else "list"
    return None


def _isinstance_of(node: ast.expr, name: str) -> set[str]:
    """The classes of ``isinstance(name, ..)``."""
    return {dotted_path(each) or "" for each in _tested_classes(node, {name})}


def _tested_classes(node: ast.AST, names: set[str]) -> list[ast.expr]:
    if not isinstance(node, ast.Call) or dotted_path(node.func) != "isinstance" or len(node.args) != 2:
        return []
    if dotted_path(node.args[0]) not in names:
        return []
    classes = node.args[1]
    return list(classes.elts) if isinstance(classes, ast.Tuple) else [classes]


def _has_module_elements(info: ClassInfo, init: ast.AST, parameter: ast.arg) -> bool:
    """Whether an annotation, or a test in ``__init__``, says that the elements of an argument are modules."""
    annotation = without_none(parameter.annotation)
    inside = element_annotation(annotation) or _tuple_or_value(annotation)
    if inside is not None and is_module_type(info, inside):
        return True
    loops: list[ast.For | ast.comprehension] = [*nodes_in(init, ast.For), *nodes_in(init, ast.comprehension)]
    names = {dotted_path(loop.target) or "" for loop in loops if dotted_path(loop.iter) == parameter.arg}
    return any(
        is_module_type(info, each)
        for call in nodes_in(init, ast.Call)
        for each in _tested_classes(call, names | {parameter.arg})
    ) or (annotation is None and info.is_module and OF_MODULES.fullmatch(parameter.arg) is not None)


def _tuple_or_value(annotation: ast.expr | None) -> ast.expr | None:
    """``M`` in ``Tuple[M, ...]`` and ``Dict[str, M]``."""
    if not isinstance(annotation, ast.Subscript):
        return None
    parts = parts_of_tuple(annotation.slice)
    parts = [each for each in parts if not (isinstance(each, ast.Constant) and each.value is Ellipsis)]
    return parts[-1] if _container_of(annotation) is not None and parts else None


def is_module_type(info: ClassInfo, node: ast.expr) -> bool:
    """Whether a class is a Module: of torch, of this file, or the base of this class that its callers call."""
    name = info.public_name(node)
    if name is not None:
        return is_module_class(name) or name in info.library_bases or (info.is_module and name in _own_bases(info))
    found = (
        next((scope[node.id] for scope in info.closure.scopes if node.id in scope), None)
        if isinstance(node, ast.Name)
        else None
    )
    return isinstance(found, Cls) and found.info.is_module


def _own_bases(info: ClassInfo) -> set[str | None]:
    return {info.public_name(base) for base in info.node.bases}


def is_handed_on(built: Built, path: str, value: ast.expr) -> bool:
    """Whether ``__init__`` gives the container to something else, which may register what it holds."""
    names = {path} | ({value.id} if isinstance(value, ast.Name) else set())
    takers = _takers(built.method)
    return any(taker is None or taker not in names for name in names for taker in takers.get(name, ()))


@once_a_node
def _takers(method: ast.AST) -> dict[str, list[str | None]]:
    """The objects whose methods get each name or attribute as an argument; None is any other callee."""
    found: dict[str, list[str | None]] = {}
    for call in nodes_in(method, ast.Call):
        if (dotted_path(call.func) or "") in _READS:
            continue
        taker = dotted_path(call.func.value) if isinstance(call.func, ast.Attribute) else None
        for each in arguments_of(call):
            path = dotted_path(each.value if isinstance(each, ast.Starred) else each)
            if path is not None:
                found.setdefault(path, []).append(taker)
    return found


def is_composite(info: ClassInfo) -> bool:
    """Whether a class with an unknown base follows the protocol of a Module: it defines forward, its kind is called.

    `self.parts` are tested to be of the class's own base, and are called, while the class says `forward` itself.
    """
    forward = info.methods.get("forward")
    if forward is None or "__call__" in info.all_methods or not forward.args.args:
        return False
    if NO_MODULE.search(" ".join((info.name, *info.base_names))):
        return False
    calls = (name for call in nodes_in(forward, ast.Call) if (name := info.public_name(call.func)) is not None)
    return any(name.startswith("torch.") for name in calls)
