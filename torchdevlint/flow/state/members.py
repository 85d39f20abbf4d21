"""Which attributes the instances of a class can have at all, whoever sets them."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, is_one_of, names_one_of
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.values import Cls, Func, Ref, Value
from torchdevlint.source.nodes import arguments_of, nodes_in, once_a_node

if TYPE_CHECKING:
    from torchdevlint.flow.state.classes import ClassInfo

_ANSWERS_ANYTHING = frozenset({"__getattr__", "__getattribute__", "__setstate__", "__new__", "__setattr__"})
_WRITES_ANYTHING = frozenset({"setattr", "vars", "exec", "eval"})
_WRITES_BEHIND = frozenset({"__dict__", "__setattr__", "__class__", "__setstate__"})


def has_attribute(info: ClassInfo, name: str) -> bool | None:
    """Whether instances of a class of this file have the attribute; None where a base or a decorator is not known.

    False is said of the class and its bases alone: code elsewhere can still assign to an instance.
    """
    if any(_defines(each, name) for each in info.mro):
        return True
    for each in info.mro:
        node = each.node
        if node.keywords or len(each.bases) != len(node.bases) or not _is_plain(each):
            return None
        if any(base_has_attribute(info, base, name) is not False for base in each.bases):
            return None
    return False


def is_set_at_once(info: ClassInfo, name: str) -> bool:
    """Whether ``__init__`` sets an attribute whatever its arguments are, as a buffer too, and nothing deletes it."""
    init = info.methods.get("__init__")
    if init is None or any(_deletes(each.node, name) for each in info.mro):
        return False
    for statement in init.body:
        if isinstance(statement, (ast.Return, ast.Raise)):
            return False
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if names_one_of(f"self.{name}", targets):
                return True
        called = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(called, ast.Call) and dotted_path(called.func) in _REGISTER and called.args:
            first = called.args[0]
            found = isinstance(first, ast.Constant) and first.value == name
        else:
            found = False
        if found:
            return True
    return False


_REGISTER = ("self.register_buffer", "self.register_parameter", "self.add_module", "self.register_module")


def _deletes(node: ast.AST, name: str) -> bool:
    deleted = _deleted_in(node)
    return deleted is None or f"self.{name}" in deleted


@once_a_node
def _deleted_in(node: ast.AST) -> frozenset[str | None] | None:
    """The paths that a class deletes, as text; None where it calls `delattr`, which may be for any."""
    if any(each.id == "delattr" for each in nodes_in(node, ast.Name)):
        return None
    return frozenset(dotted_path(target) for each in nodes_in(node, ast.Delete) for target in each.targets)


def writers_of(info: ClassInfo, name: str) -> list[ast.AST]:
    """The methods of a class and of its bases in this file that assign an attribute of `self`."""
    return [method for each in info.mro for method in each.writers.get(name, ())]


def is_built_by_init(info: ClassInfo) -> bool:
    """Whether a call of the class runs its ``__init__`` with these arguments, as far as the text of it tells.

    Where it writes an ``__init__`` itself, a base that is not seen is taken to change nothing about it, but an `Enum`,
    which is called to look a member up.
    """
    if info.resolved:
        return True
    plain = not any(each.node.keywords or each.node.decorator_list for each in info.mro)
    looks_up = any(name.startswith("enum.") for name in info.library_bases)
    return plain and not looks_up and "__init__" in info.methods and "__new__" not in info.all_methods


def base_has_attribute(info: ClassInfo, base: Value, name: str) -> bool | None:
    """Whether a base class brings the attribute; what a class of this file brings is asked of that class."""
    if isinstance(base, Cls):
        return False
    if not isinstance(base, Ref) or is_one_of(base.name, info.settings.device_managed_bases):
        return None
    return False if base.name in libraries.PLAIN_BASES else library_has_attribute(base.name, name)


def library_has_attribute(class_name: str, name: str) -> bool | None:
    """Whether instances of a Module of torch or of a known library have the attribute; None where it is not known."""
    if name != "device":
        return None
    if is_torch_module(class_name):
        return class_name in torch_api.MODULES_WITH_DEVICE
    known = libraries.known(class_name)
    return known.device if known is not None and known.module else None


def is_torch_module(name: str) -> bool:
    """Whether it is the public name of one of torch's own Modules, by how these are written."""
    head, _, tail = name.rpartition(".")
    return head in ("torch.nn", "torch.nn.parallel") and tail[:1].isupper() and tail not in _NO_MODULES


_NO_MODULES = ("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer")


def _defines(info: ClassInfo, name: str) -> bool:
    """Whether the class body binds the name, or lists it as a slot, or a method assigns it to `self`."""
    slots = values_by_path(info.node).get("__slots__", ())
    listed = (each.value for value in slots for each in nodes_in(value, ast.Constant))
    return name in info.methods or name in info.writers or _binds(info.node.body, name) or name in listed


def _binds(body: Iterable[ast.stmt], name: str) -> bool:
    """Whether statements bind a name; the bodies of functions and classes have names of their own."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound = {statement.name}
        else:
            bound = {each.id for each in nodes_in(statement, ast.Name) if isinstance(each.ctx, ast.Store)}
            bound.update(each.asname or each.name for each in nodes_in(statement, ast.alias))
        if name in bound:
            return True
    return False


def _is_plain(info: ClassInfo) -> bool:
    """Whether the class gives its instances no attributes behind the names that it writes."""
    node = info.node
    if len(node.decorator_list) > info.is_dataclass or not _ANSWERS_ANYTHING.isdisjoint(info.methods):
        return False
    return not writes_unseen(node) and not any(_may_write(info, call) for call in nodes_in(node, ast.Call))


def _may_write(info: ClassInfo, call: ast.Call) -> bool:
    """Whether it gives `self` to a function that may set any attribute of it, for all that is known here."""
    given = arguments_of(call)
    if not any(isinstance(each, ast.Name) and each.id == "self" for each in given):
        return False
    path = dotted_path(call.func) or ""
    found = next((scope[path] for scope in info.closure.scopes if path in scope), None)
    if isinstance(found, Func):
        return writes_unseen(found.node)
    library = (info.public_name(call.func) or "").partition(".")[0]
    known = library == "torch" or library in sys.stdlib_module_names or hasattr(builtins, path)
    return not known and not path.endswith(".__init__")


def writes_unseen(scope: ast.AST) -> bool:
    """Whether something in the scope writes attributes under names that it computes, or past assignments."""
    if any(each.attr in _WRITES_BEHIND for each in nodes_in(scope, ast.Attribute)):
        return True
    return any(each.id in _WRITES_ANYTHING for each in nodes_in(scope, ast.Name))


def is_kept(info: ClassInfo, name: str) -> bool:
    """Whether objects of a class keep under this name what is called: a model, a loss, a function they were given."""
    return any(name in each.writers for each in info.mro)


def is_made_elsewhere(info: ClassInfo, name: str) -> bool:
    """Whether an attribute comes from a base that is not known, or from the constructor of one in another file."""
    return not info.resolved or any(name in each.writers and owner_of(each.closure) is not None for each in info.mro)
