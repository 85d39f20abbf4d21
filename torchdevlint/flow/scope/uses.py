"""Usage evidence: what a function does with its parameters, where neither annotation nor caller says what they are.

One walk over a function collects how each name is used. What is used as only tensors can be is one.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.dimensions import asked_for_size, sized_behind, takes_along
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.none_tests import none_test
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import levels_of_body, nodes_in, once_a_node

_CONTAINER_METHODS = frozenset(
    "items keys values get append extend pop update setdefault copy split strip startswith".split()
)
_OF_ARRAYS = frozenset({"shape", "ndim", "T", "sum", "mean", "reshape", "argmax"})
_OF_MODULES = frozenset({"to", "cpu", "cuda", "float", "half", "double", "bfloat16"})

Scope = AnyFunction | ast.Module


class Uses:
    """How one name is used in one function."""

    def __init__(self) -> None:
        self.attributes: set[str] = set()
        self.assigned: set[str] = set()
        """The attributes that are put on it."""
        self.called = False
        self.none_tested = False
        self.text_keys = False
        self.item_attributes: set[str] = set()
        """Attributes of what is taken out by a text key: ``nets["a"].train``; ``()`` where that is called itself."""
        self.items_given = False
        """Something taken out by a text key is an argument of a call."""
        self.spread_in: list[ast.Call] = []
        """Calls that it is an argument of after one or two stars."""
        self.arguments: list[tuple[ast.Call, int | str]] = []
        """Calls that it is an argument of, with its position or keyword."""
        self.derived: list[tuple[ast.Call, int | str]] = []
        """The same for what is made of it element by element, such as ``x[:, 0]`` and ``-x``."""
        self.looped_over: ast.expr | None = None
        """What a `for` loop with this name as its target goes through."""
        self.dtypes: list[ast.expr] = []
        """What its `dtype` is compared with."""
        self.has_dimensions = False
        """It is indexed, asked for its length or a size, or checked: what has no dimensions does not come through."""
        self.has_axes = False
        """A part is taken along one of several dimensions, as of arrays and tensors alone: ``x[:, 0]``."""
        self.says_where = False
        """Something is made or moved where it is: ``torch.zeros(3, device=x.device)``, ``y.to(x.device)``."""
        self.tensor_use: ast.Attribute | None = None
        """Where, for the first time, an attribute is read or a method called that only tensors have."""

    @property
    def is_tensor(self) -> bool:
        """Whether it is used as only tensors are, and nothing says that it is something else."""
        if self.is_container or self.called or self.is_of_class:
            return False
        return self.tensor_use is not None or self._has_both

    @property
    def is_of_class(self) -> bool:
        """Whether something is read from it that a tensor does not have."""
        foreign = (each for each in self.attributes if not torch_api.is_of_tensors(each))
        return any(each not in self.assigned for each in foreign) and not self.class_is_asked_for

    @property
    def _has_both(self) -> bool:
        """Whether it has what arrays have and modules have not, and what modules have and arrays have not."""
        of_arrays = self.has_axes or self.attributes & _OF_ARRAYS
        both = of_arrays and (self.says_where or self.attributes & _OF_MODULES)
        return bool(both) and not self.class_is_asked_for

    @property
    def class_is_asked_for(self) -> bool:
        """Whether its class is asked for: then each of its attributes may be meant for another class."""
        return any(_asks_for_class(call) for call, _ in self.arguments)

    @property
    def is_module(self) -> bool:
        return bool(self.attributes & torch_api.MODULE_ONLY_ATTRIBUTES)

    @property
    def is_container(self) -> bool:
        return self.text_keys or bool(self.spread_in) or bool(self.attributes & _CONTAINER_METHODS)


@once_a_node
def uses_in(function: Scope) -> dict[str, Uses]:
    """How each plain name is used anywhere in a function or module, nested functions included."""
    found: dict[str, Uses] = {}

    def use(node: ast.expr | None) -> Uses | None:
        if type(node) is not ast.Name:
            return None
        uses = found.get(node.id)
        if uses is None:
            uses = found[node.id] = Uses()
        return uses

    for level in levels_of_body(function):
        for node in level:
            collect = _COLLECTORS.get(type(node))
            if collect is not None:
                collect(node, use)
    return found


@once_a_node
def asked_in(scope: ast.AST) -> dict[str, set[str]]:
    """The attributes that each dotted path is asked for anywhere in a function, class or module."""
    found: dict[str, set[str]] = {}
    for node in nodes_in(scope, ast.Attribute):
        path = dotted_path(node.value)
        if path is not None:
            found.setdefault(path, set()).add(node.attr)
    return found


@once_a_node
def bindings_in(function: Scope) -> dict[str, list[tuple[int, bool, int]]]:
    """Where each name is read or bound anywhere in a function or module: line, whether it is bound, column; sorted.

    On one line the reads come first, as in ``x = x + 1``.
    """
    found: defaultdict[str, list[tuple[int, bool, int]]] = defaultdict(list)
    for node in nodes_in(function, ast.Name):
        context = type(node.ctx)
        if context is not ast.Del:
            found[node.id].append((node.lineno, context is ast.Store, node.col_offset))
    for places in found.values():
        if len(places) > 1:
            places.sort()
    return dict(found)


def _subscript(node: ast.Subscript, use: Callable[[ast.expr | None], Uses | None]) -> None:
    sized = node.value
    key = node.slice.value if isinstance(node.slice, ast.Constant) else 0
    if isinstance(sized, ast.Attribute) and sized.attr == "shape":
        sized = sized.value
    entry = use(sized)
    if entry is None:
        return
    if isinstance(key, str) and sized is node.value:
        entry.text_keys = True
    elif key is not None and key is not Ellipsis:
        entry.has_dimensions = True
        entry.has_axes = entry.has_axes or (sized is node.value and takes_along(node.slice))


def _compare(node: ast.Compare, use: Callable[[ast.expr | None], Uses | None]) -> None:
    """``x is None`` and ``x.dtype == torch.long``."""
    entry = use(node.left)
    if entry is not None and (isinstance(node.ops[0], (ast.Is, ast.IsNot)) or none_test(node) is not None):
        entry.none_tested = True
    asked = node.left
    if isinstance(asked, ast.Attribute) and asked.attr == "dtype":
        entry = use(asked.value)
        if entry is not None:
            entry.dtypes.append(node.comparators[0])


@once_a_node
def stored_into(function: Scope) -> frozenset[str]:
    """The names whose items or attributes a function assigns."""
    targets: list[ast.Subscript | ast.Attribute] = [*nodes_in(function, ast.Subscript)]
    targets += nodes_in(function, ast.Attribute)
    return frozenset(
        each.value.id for each in targets if isinstance(each.ctx, ast.Store) and isinstance(each.value, ast.Name)
    )


def _attribute(node: ast.Attribute, use: Callable[[ast.expr | None], Uses | None]) -> None:
    holder = use(_container(node.value)) if type(node.value) is ast.Subscript else None
    entry = use(node.value)
    if holder is not None:
        holder.item_attributes.add(node.attr)
    if entry is not None:
        entry.attributes.add(node.attr)
        if not isinstance(node.ctx, ast.Load):
            entry.assigned.add(node.attr)
        if node.attr in torch_api.TENSOR_ONLY_ATTRIBUTES:
            entry.tensor_use = node


def _container(node: ast.expr) -> ast.expr | None:
    """``nets`` in ``nets["a"]``."""
    keyed = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node.value if keyed and isinstance(node.slice.value, str) else None  # type: ignore[attr-defined]


@once_a_node
def bound_in_loops(function: Scope) -> frozenset[str]:
    """The names that a loop of the function or module binds."""
    loops = (*nodes_in(function, ast.For), *nodes_in(function, ast.AsyncFor), *nodes_in(function, ast.While))
    lines = [(loop.lineno, loop.end_lineno or loop.lineno) for loop in loops]
    bound = [each for each in nodes_in(function, ast.Name) if isinstance(each.ctx, ast.Store)] if lines else []
    return frozenset(each.id for each in bound if any(start <= each.lineno <= end for start, end in lines))


def _asks_for_class(call: ast.Call) -> bool:
    """``isinstance(x, ..)``, ``type(x)``, ``is_tensor(x)``."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in ("isinstance", "type", "hasattr") or name.startswith("is_")


def _looped_over(source: ast.expr) -> ast.expr:
    """``layers`` in ``enumerate(layers)`` and its kin."""
    while isinstance(source, ast.Call) and source.args:
        source = source.args[0]
    return source


def _call(node: ast.Call, use: Callable[[ast.expr | None], Uses | None]) -> None:
    func, args, keywords = node.func, node.args, node.keywords
    callee = use(func)
    if callee is not None:
        callee.called = True
    sized = use(asked_for_size(node)) if len(args) == 1 else None
    if sized is not None:
        sized.has_dimensions = True
    holder = use(_container(func)) if type(func) is ast.Subscript else None
    if holder is not None:
        holder.item_attributes.add("()")
    for given in [*args, *[keyword.value for keyword in keywords]] if keywords else args:
        holder = use(_container(given)) if type(given) is ast.Subscript else None
        if holder is not None:
            holder.items_given = True
    if type(func) is ast.Attribute:
        receiver = use(_sliced(func.value)) if func.attr in torch_api.TENSOR_ONLY_METHODS else None
        if receiver is not None:
            receiver.tensor_use = func
        like = use(_elementwise(args[0])) if func.attr in _TAKE_AFTER and len(args) == 1 else None
        if like is not None:
            like.tensor_use = func
    for position, argument in enumerate(args):
        _argument(node, position, argument, use)
    beside = use(_place(node))
    if beside is not None:
        beside.says_where = True
    for keyword in keywords:
        entry = use(keyword.value)
        if entry is None:
            continue
        if keyword.arg is None:
            entry.spread_in.append(node)
        else:
            entry.arguments.append((node, keyword.arg))


def _place(node: ast.Call) -> ast.expr | None:
    """`x` where a call is told ``x.device``: by ``device=``, or first in a move."""
    moves = type(node.func) is ast.Attribute and node.func.attr == "to"
    given = [*(node.args[:1] if moves else ()), *(each.value for each in node.keywords if each.arg == "device")]
    return next((each.value for each in given if type(each) is ast.Attribute and each.attr == "device"), None)


_TAKE_AFTER = frozenset({"type_as", "expand_as", "view_as", "reshape_as"})
"""Methods whose argument can only be a tensor."""


def _argument(call: ast.Call, position: int, argument: ast.expr, use: Callable[[ast.expr | None], Uses | None]) -> None:
    """A positional argument: a name, what is made of one, or one after a star."""
    if type(argument) is ast.Starred:
        entry = use(argument.value)
        if entry is not None:
            entry.spread_in.append(call)
        return
    entry = use(argument)
    if entry is not None:
        entry.arguments.append((call, position))
        return
    derived = use(_elementwise(argument)) if type(argument) in _MADE_OF_ONE else None
    if derived is not None:
        derived.derived.append((call, position))


_MADE_OF_ONE = frozenset({ast.Subscript, ast.UnaryOp, ast.Attribute, ast.BinOp, ast.Compare})


def _sliced(node: ast.expr) -> ast.expr:
    """``x`` in ``x[:, i]``: only a tensor has parts along its dimensions that are tensors."""
    while isinstance(node, ast.Subscript) and takes_along(node.slice):
        node = node.value
    return node


def _elementwise(node: ast.expr) -> ast.expr | None:
    """``x`` in ``x[:, 0]``, ``-x``, ``2 * x``, ``x == 1``, ``x.T``: what is a tensor only if `x` is one."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Slice, ast.Tuple)):
            node = node.value
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            node = node.operand
        elif isinstance(node, ast.Attribute) and node.attr in torch_api.TENSOR_ATTRIBUTES:
            node = node.value
        elif isinstance(node, (ast.BinOp, ast.Compare)):
            right = node.right if isinstance(node, ast.BinOp) else node.comparators[0]
            if isinstance(right, ast.Constant) == isinstance(node.left, ast.Constant):
                return None
            node = node.left if isinstance(right, ast.Constant) else right
        else:
            return None
    return node


def _loop(node: ast.For, use: Callable[[ast.expr | None], Uses | None]) -> None:
    for target in node.target.elts if isinstance(node.target, ast.Tuple) else (node.target,):
        entry = use(target)
        if entry is not None:
            entry.looped_over = _looped_over(node.iter)


def _checked(node: ast.stmt, use: Callable[[ast.expr | None], Uses | None]) -> None:
    """``if x.ndim != 2: raise ..`` and ``n, m = x.shape``."""
    for sized in sized_behind(node):
        entry = use(sized)
        if entry is not None:
            entry.has_dimensions = True


_COLLECTORS: dict[type, Callable[[Any, Callable[[ast.expr | None], Uses | None]], None]] = {
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Compare: _compare,
    ast.For: _loop,
    ast.If: _checked,
    ast.Assert: _checked,
    ast.Assign: _checked,
}
