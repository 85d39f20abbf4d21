"""Attributes of objects that nothing ever gives them: ``self.model.eval()``, or ``self.model(x)``, without a `model`.

Whoever comes there ends in an AttributeError, on every machine.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.source.nodes import inside, nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_KNOWN_BASES = frozenset("object builtins.object abc.ABC torch.nn.Module torch.nn.modules.module.Module".split())
_OF_MODULES = frozenset(
    """
    T_destination add_module apply bfloat16 buffers call_super_init children compile cpu cuda double dump_patches eval
    extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules
    mtia named_buffers named_children named_modules named_parameters parameters requires_grad_ set_extra_state
    set_submodule share_memory state_dict to to_empty train training type xpu zero_grad
    """.split()
)
"""What a Module has that its own methods may ask or call, but for what registers something."""
_DYNAMIC = frozenset(
    "setattr delattr hasattr getattr vars locals __dict__ __getattr__ __getattribute__ __setattr__ __slots__ "
    "add_module register_module register_buffer register_parameter".split()
)
"""What gives an object attributes by texts, or asks for those that it may lack."""
_MOST_FILES = 60
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def asks_what_is_missing(scope: Scope, call: ast.Call) -> bool:
    """Whether a method calls an attribute of its object, or a method of that, and nothing gives it that attribute.

    All classes of the object have to be seen: its bases, those that are derived from it, and who else writes to it.
    """
    owner, path = scope.owner, dotted_path(call.func)
    first, _, rest = (path or "").partition(".")
    name = rest.partition(".")[0]
    if owner is None or first != "self" or not name or name.startswith(("_", "register_")) or name in _OF_MODULES:
        return False
    if not name.isidentifier():  # ``self.kept["net"].eval()`` asks for an item of what is kept
        return False
    if not isinstance(scope.function, _FUNCTIONS) or scope.file.path.endswith(NOTEBOOK):
        return False
    line = _line_of(scope, owner)
    if line is None or any(name in _given_by(each) or _is_dynamic(each) for each in line):
        return False
    return not _may_be_given_outside(scope, owner.name, name)


def _line_of(scope: Scope, owner: ast.ClassDef, hops: int = 4) -> list[ast.ClassDef] | None:
    """A class of the top level and its bases in the file; None if one of them is from elsewhere, or made otherwise."""
    defined = [each for each in scope.file.tree.body if isinstance(each, ast.ClassDef) and each.name == owner.name]
    if defined != [owner] or owner.keywords or owner.decorator_list or hops == 0:
        return None
    found = [owner]
    for base in owner.bases:
        if public_path(base) in _KNOWN_BASES:
            continue
        classes = [each for each in scope.file.tree.body if isinstance(each, ast.ClassDef)]
        above = [each for each in classes if each.name == dotted_path(base)]
        more = _line_of(scope, above[0], hops - 1) if len(above) == 1 else None
        if more is None:
            return None
        found += more
    return found


def _given_by(owner: ast.ClassDef) -> frozenset[str]:
    """The names that a class binds in its body, or that its methods write to whatever object."""
    return frozenset(_bound_in(owner))


def _bound_in(owner: ast.ClassDef) -> Iterator[str]:
    for each in nodes_in(owner, ast.Attribute):
        if not isinstance(each.ctx, ast.Load):
            yield each.attr
    for statement in owner.body:
        if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
            yield statement.name
            continue
        for inner in inside(statement):
            if isinstance(inner, ast.Name) and not isinstance(inner.ctx, ast.Load):
                yield inner.id
            elif isinstance(inner, (*_FUNCTIONS, ast.ClassDef)):
                yield inner.name
            elif isinstance(inner, ast.alias):
                yield inner.asname or inner.name


def _is_dynamic(owner: ast.ClassDef) -> bool:
    named = {each.id for each in nodes_in(owner, ast.Name)} | {each.attr for each in nodes_in(owner, ast.Attribute)}
    defined = {each.name for each in owner.body if isinstance(each, _FUNCTIONS)}
    return not _DYNAMIC.isdisjoint(named | defined)


def _may_be_given_outside(scope: Scope, owner: str, name: str) -> bool:
    """Whether a text of the project derives a class from this one, or writes to the attribute of what is not `self`."""
    project = scope.project
    derives = re.compile(rf"\bclass\s+\w+\s*\([^)]*\b{re.escape(owner)}\b")
    writes = re.compile(
        rf"([\w\])]+)\.{re.escape(name)}\s*(?:[:,][^=\n]*)?=(?!=)|\b(?:as|for)\s[\w.]+\.{re.escape(name)}\b"
    )
    by_text = re.compile(r"\bsetattr\((?!\s*self\b)|\b__dict__\b|\b__class__\s*=")
    asked = (project.saying((owner,)), project.saying((f".{name}",)), project.saying(("setattr(",)))
    if any(each is None or len(each) > _MOST_FILES for each in asked) or project.saying((f".{name}",), True) != ():
        return True
    paths = dict.fromkeys(path for each in asked for path in each or ())
    texts = [scope.file.source.text]
    for path in paths:
        text = project.text_of(path)
        if text is None:
            return True
        texts.append(text.text)
    if any(derives.search(each) or by_text.search(each) for each in texts):
        return True
    return any(found[1] != "self" for each in texts for found in writes.finditer(each))
