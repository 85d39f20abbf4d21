"""Usage evidence: what a function does with its parameters, where neither annotation nor caller says what they are.

One walk over a function collects how each name is used. A name is a tensor when it is used in a way that only tensors
allow; conflicting or missing evidence means unknown, and unknown is silent.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from torchdevlint.flow import torch_api
from torchdevlint.source.nodes import nodes_in

_TENSOR_ANNOTATIONS = frozenset({"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "ByteTensor", "IntTensor"})
_CONTAINER_METHODS = frozenset(
    "items keys values get append extend pop update setdefault copy split strip startswith".split()
)


Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module


@dataclass(slots=True)
class Uses:
    """How one name is used in one function."""

    attributes: set[str] = field(default_factory=set)
    called: bool = False
    none_tested: bool = False
    text_keys: bool = False
    item_attributes: set[str] = field(default_factory=set)
    """Attributes of what is taken out by a text key: ``nets["a"].train``; ``()`` where that is called itself."""
    items_given: bool = False
    """Something taken out by a text key is an argument of a call."""
    spread_in: list[ast.Call] = field(default_factory=list)
    """Calls that it is an argument of after one or two stars."""
    arguments: list[tuple[ast.Call, int | str]] = field(default_factory=list)
    """Calls that it is an argument of, with its position or keyword."""
    looped_over: ast.expr | None = None
    """What a `for` loop with this name as its target goes through."""
    tensor_use: ast.Attribute | None = None
    """Where, for the first time, an attribute is read or a method called that only tensors have."""

    @property
    def is_tensor(self) -> bool:
        """Whether it is used as only tensors are, and nothing says that it is something else."""
        return not self.is_container and not self.called and self.tensor_use is not None

    @property
    def is_module(self) -> bool:
        return bool(self.attributes & torch_api.MODULE_ONLY_ATTRIBUTES)

    @property
    def is_container(self) -> bool:
        return self.text_keys or bool(self.spread_in) or bool(self.attributes & _CONTAINER_METHODS)


_KNOWN: WeakKeyDictionary[Scope, dict[str, Uses]] = WeakKeyDictionary()


def uses_in(function: Scope) -> dict[str, Uses]:
    """How each plain name is used anywhere in a function or module, nested functions included."""
    found = _KNOWN.get(function)
    if found is None:
        found = _KNOWN[function] = _collect(function)
    return found


def _collect(function: Scope) -> dict[str, Uses]:
    found: dict[str, Uses] = {}

    def use(node: ast.expr | None) -> Uses | None:
        return found.setdefault(node.id, Uses()) if isinstance(node, ast.Name) else None

    body = function.body if isinstance(function.body, list) else [function.body]
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        stack.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Attribute):
            _attribute(node, use)
        elif isinstance(node, ast.Call):
            _call(node, use)
        elif isinstance(node, ast.Subscript):
            entry = use(node.value)
            if entry is not None and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                entry.text_keys = True
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            entry = use(node.left)
            if entry is not None:
                entry.none_tested = True
        elif isinstance(node, ast.For):
            for target in node.target.elts if isinstance(node.target, ast.Tuple) else (node.target,):
                entry = use(target)
                if entry is not None:
                    entry.looped_over = _looped_over(node.iter)
    return found


_BINDINGS: WeakKeyDictionary[Scope, dict[str, list[tuple[int, bool, int]]]] = WeakKeyDictionary()


def bindings_in(function: Scope) -> dict[str, list[tuple[int, bool, int]]]:
    """Where each name is read or bound anywhere in a function or module: line, whether it is bound, column; sorted.

    On one line the reads come first, as in ``x = x + 1``.
    """
    found = _BINDINGS.get(function)
    if found is None:
        found = _BINDINGS[function] = {}
        for node in nodes_in(function, ast.Name):
            if not isinstance(node.ctx, ast.Del):
                place = (node.lineno, isinstance(node.ctx, ast.Store), node.col_offset)
                found.setdefault(node.id, []).append(place)
        for places in found.values():
            places.sort()
    return found


_STORED_INTO: WeakKeyDictionary[Scope, frozenset[str]] = WeakKeyDictionary()


def stored_into(function: Scope) -> frozenset[str]:
    """The names whose items or attributes a function assigns."""
    found = _STORED_INTO.get(function)
    if found is None:
        targets: list[ast.Subscript | ast.Attribute] = [*nodes_in(function, ast.Subscript)]
        targets += nodes_in(function, ast.Attribute)
        found = _STORED_INTO[function] = frozenset(
            each.value.id for each in targets if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
        )
    return found


def _attribute(node: ast.Attribute, use: Callable[[ast.expr | None], Uses | None]) -> None:
    holder, entry = use(_container(node.value)), use(node.value)
    if holder is not None:
        holder.item_attributes.add(node.attr)
    if entry is not None:
        entry.attributes.add(node.attr)
        if node.attr in torch_api.TENSOR_ONLY_ATTRIBUTES:
            entry.tensor_use = node


def _container(node: ast.expr) -> ast.expr | None:
    """``nets`` in ``nets["a"]``."""
    keyed = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node.value if keyed and isinstance(node.slice.value, str) else None  # type: ignore[attr-defined]


_BOUND_IN_LOOPS: WeakKeyDictionary[Scope, frozenset[str]] = WeakKeyDictionary()


def bound_in_loops(function: Scope) -> frozenset[str]:
    """The names that a loop of the function or module binds."""
    found = _BOUND_IN_LOOPS.get(function)
    if found is None:
        loops = (*nodes_in(function, ast.For), *nodes_in(function, ast.AsyncFor), *nodes_in(function, ast.While))
        lines = [(loop.lineno, loop.end_lineno or loop.lineno) for loop in loops]
        found = _BOUND_IN_LOOPS[function] = frozenset(
            name
            for name, places in bindings_in(function).items()
            if any(bound and start <= line <= end for line, bound, _ in places for start, end in lines)
        )
    return found


def _looped_over(source: ast.expr) -> ast.expr:
    """``layers`` in ``enumerate(layers)`` and its kin."""
    while isinstance(source, ast.Call) and source.args:
        source = source.args[0]
    return source


def _call(node: ast.Call, use: Callable[[ast.expr | None], Uses | None]) -> None:
    callee = use(node.func)
    if callee is not None:
        callee.called = True
    holder = use(_container(node.func))
    if holder is not None:
        holder.item_attributes.add("()")
    for given in (*node.args, *(keyword.value for keyword in node.keywords)):
        holder = use(_container(given))
        if holder is not None:
            holder.items_given = True
    if isinstance(node.func, ast.Attribute) and node.func.attr in torch_api.TENSOR_ONLY_METHODS:
        receiver = use(node.func.value)
        if receiver is not None:
            receiver.tensor_use = node.func
    for position, argument in enumerate(node.args):
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        entry = use(inner)
        if entry is None:
            continue
        if isinstance(argument, ast.Starred):
            entry.spread_in.append(node)
        else:
            entry.arguments.append((node, position))
    for keyword in node.keywords:
        entry = use(keyword.value)
        if entry is None:
            continue
        if keyword.arg is None:
            entry.spread_in.append(node)
        else:
            entry.arguments.append((node, keyword.arg))


def annotated_tensor(annotation: ast.expr | None) -> bool:
    """Whether an annotation says tensor: ``Tensor``, ``torch.Tensor``, ``Optional[Tensor]``, ``Tensor | None``."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        text = annotation.value.rpartition(".")[2].strip("\"' ")
        return text in _TENSOR_ANNOTATIONS
    if isinstance(annotation, ast.Attribute):
        return annotation.attr in _TENSOR_ANNOTATIONS
    if isinstance(annotation, ast.Name):
        return annotation.id in _TENSOR_ANNOTATIONS
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.value, (ast.Name, ast.Attribute)):
        name = annotation.value.id if isinstance(annotation.value, ast.Name) else annotation.value.attr
        return name in ("Optional", "Float", "Int", "Bool") and annotated_tensor(annotation.slice)
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        sides = (annotation.left, annotation.right)
        return any(annotated_tensor(side) for side in sides) and all(
            annotated_tensor(side) or (isinstance(side, ast.Constant) and side.value is None) for side in sides
        )
    return False


def contained_tensor(annotation: ast.expr | None) -> str | None:
    """``dict`` or ``list`` if an annotation says a mapping to, or a sequence of, tensors."""
    if not isinstance(annotation, ast.Subscript):
        return None
    name = annotation_name(annotation.value)
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    parts = [part for part in parts if not (isinstance(part, ast.Constant) and part.value is Ellipsis)]
    if name in ("Dict", "dict", "Mapping", "OrderedDict", "MutableMapping") and len(parts) == 2:
        return "dict" if annotated_tensor(parts[1]) else None
    if name in ("List", "list", "Sequence", "Iterable", "Tuple", "tuple", "Iterator", "Set", "set"):
        return "list" if parts and all(annotated_tensor(part) for part in parts) else None
    return None


def element_annotation(annotation: ast.expr | None) -> ast.expr | None:
    """The annotation of the elements of a list or other sequence, else None."""
    if not isinstance(annotation, ast.Subscript) or isinstance(annotation.slice, ast.Tuple):
        return None
    name = annotation_name(annotation.value)
    return annotation.slice if name in ("List", "list", "Sequence", "Iterable", "Set", "set") else None


def annotation_name(annotation: ast.expr | None) -> str:
    """The last component of a plain annotation, or an empty string: ``torch.device`` gives ``device``."""
    if isinstance(annotation, ast.Attribute):
        return annotation.attr
    if isinstance(annotation, ast.Name):
        return annotation.id
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2]
    return ""
