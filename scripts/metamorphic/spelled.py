"""Changes of how a program spells what it does: the same calls, arguments and bindings, written another way."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from metamorphic.editing import FunctionNode, edited, functions, main_of, own, replaced, with_head

_LOGGED = """\
import functools


def _logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner

"""
_CONFIG = """\
import dataclasses


@dataclasses.dataclass
class Config:
    device: object
    rounds: int = 3

"""


def walrus(text: str) -> str | None:
    """``(x := f())`` as a statement."""
    edits: list[tuple[int, int, int, str]] = []
    for node in _assigned(text):
        target, end = node.targets[0], node.end_col_offset or 0
        edits.append((node.lineno, target.col_offset, target.col_offset, "("))
        edits.append((node.lineno, target.end_col_offset or 0, (target.end_col_offset or 0) + 2, " :="))
        edits.append((node.lineno, end, end, ")"))
    return replaced(text, edits) if edits else None


def unchained(text: str) -> str | None:
    """``x = f()``, then ``x = x.to(device)``, for ``x = f().to(device)``."""
    edits: list[tuple[int, int, int, str]] = []
    for node in _assigned(text):
        call, name = node.value, node.targets[0]
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        inner = call.func.value
        if not isinstance(inner, ast.Call) or not isinstance(name, ast.Name):
            continue
        if any(isinstance(each, ast.Name) and each.id == name.id for each in ast.walk(call)):
            continue
        end = inner.end_col_offset or 0
        edits.append((node.lineno, end, end, f"; {name.id} = {name.id}"))
    return replaced(text, edits) if edits else None


def device_as_object(text: str) -> str | None:
    """``torch.device("cuda")`` for ``"cuda"``, where something is made or moved."""
    if "import torch\n" not in text:
        return None
    places = [each for call in _calls(text) for each in _places(call)]
    texts = [each for each in places if isinstance(each, ast.Constant) and each.value in ("cuda", "cuda:0", "cpu")]
    edits: list[tuple[ast.stmt | ast.expr, str]] = [(each, f"torch.device({ast.unparse(each)})") for each in texts]
    return edited(text, edits) if edits else None


def keyworded(text: str) -> str | None:
    """``x.to(device=device)``, where a device is given by its place."""
    edits: list[tuple[int, int, int, str]] = []
    for call in _calls(text):
        named = [each for each in call.args[:1] if isinstance(each, ast.Name | ast.Attribute)]
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "to" or len(call.args) > 1:
            continue
        edits += [
            (each.lineno, each.col_offset, each.col_offset, "device=")
            for each in named
            if ast.unparse(each).rpartition(".")[2].endswith("device") and each.lineno == each.end_lineno
        ]
    return replaced(text, edits) if edits else None


def decorated(text: str) -> str | None:
    """Functions of the top level are decorated by one that hands all arguments on."""
    tree = ast.parse(text)
    plain = [each for each in tree.body if isinstance(each, ast.FunctionDef) and not each.decorator_list]
    plain = [each for each in plain if each.name != "main"]
    if not plain:
        return None
    lines = text.splitlines()
    for each in reversed(plain):
        lines.insert(each.lineno - 1, "@_logged")
    return with_head("\n".join(lines), _LOGGED.splitlines())


def in_config(text: str) -> str | None:
    """`main` is given the device as an attribute of its configuration."""
    tree = ast.parse(text)
    main = main_of(tree)
    if main is None or any(isinstance(each, FunctionNode | ast.Lambda) for each in own(main)):
        return None
    names = [each for each in ast.walk(main) if isinstance(each, ast.Name) and each.id == "device"]
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id == "main"]
    if not names or calls or any(not isinstance(each.ctx, ast.Load) for each in names):
        return None
    if any(isinstance(each, ast.JoinedStr) for each in ast.walk(main)):
        return None
    parameter = main.args.args[0]
    edits = [(each.lineno, each.col_offset, each.end_col_offset or 0, "config.device") for each in names]
    edits.append((parameter.lineno, parameter.col_offset, parameter.end_col_offset or 0, "config: Config"))
    return with_head(replaced(text, edits), _CONFIG.splitlines())


def on_self(text: str) -> str | None:
    """What methods bind, but for arguments and in loops, is kept on the object."""
    tree = ast.parse(text)
    edits: list[tuple[int, int, int, str]] = []
    for function in functions(tree):
        if not _is_plain_method(tree, function):
            continue
        stored = [each for each in ast.walk(function) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        alone = [each.targets[0] for each in own(function) if isinstance(each, ast.Assign) and len(each.targets) == 1]
        given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        names = {each.id for each in stored} - given
        names -= {each.id for each in stored if not any(each is one for one in alone)}
        used = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id in names]
        edits += [(each.lineno, each.col_offset, each.col_offset, "self._kept_") for each in used]
    return replaced(text, edits) if edits else None


def _is_plain_method(tree: ast.Module, function: FunctionNode) -> bool:
    owners = [each for each in tree.body if isinstance(each, ast.ClassDef) and function in each.body]
    if not owners or function.name.startswith("__") or function.decorator_list:
        return False
    inner = FunctionNode | ast.Lambda | ast.ClassDef | ast.JoinedStr | ast.ListComp | ast.GeneratorExp
    first = function.args.args[:1]
    return bool(first) and first[0].arg == "self" and not any(isinstance(each, inner) for each in own(function))


def _assigned(text: str) -> Iterator[ast.Assign]:
    """The assignments of functions to a name, in one row each."""
    tree = ast.parse(text)
    rows: set[int] = set()
    for function in functions(tree):
        for each in own(function):
            if not isinstance(each, ast.Assign) or len(each.targets) > 1 or not isinstance(each.targets[0], ast.Name):
                continue
            line = text.splitlines()[each.lineno - 1].encode()
            plain = line[: each.col_offset].strip() == b"" and each.lineno == each.end_lineno
            spaced = line[each.targets[0].end_col_offset or 0 :].startswith(b" = ")
            if plain and spaced and each.lineno not in rows and not isinstance(each.value, ast.Tuple | ast.Yield):
                rows.add(each.lineno)
                yield each


def _calls(text: str) -> list[ast.Call]:
    calls = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.Call)]
    return [each for each in calls if each.lineno == each.end_lineno]


def _places(call: ast.Call) -> list[ast.expr]:
    """Where a call makes or moves something."""
    moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
    named = [each.value for each in call.keywords if each.arg == "device" and not _is_autocast(call)]
    return (call.args[:1] if moves else []) + named


def _is_autocast(call: ast.Call) -> bool:
    return "autocast" in ast.unparse(call.func)
