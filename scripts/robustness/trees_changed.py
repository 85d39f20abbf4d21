"""Programs whose statements and expressions are changed so that they can still be parsed.

What no parser turns away goes through the whole inference, which therefore meets shapes that nobody writes.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from .pieces import BASES, DECORATORS, EXPRESSIONS, NAMES, STATEMENTS

_TRIES = 5


def changed(text: str, other: str, random: Random) -> str:
    """`text` with one to twenty changes; `other` is where more statements and expressions are taken from."""
    for _ in range(_TRIES):
        try:
            tree, pieces = ast.parse(text), _Pieces(ast.parse(other))
            for _ in range(random.choice((1, 2, 4, 8, 20))):
                random.choice(_CHANGES)(tree, pieces, random)
            written = ast.unparse(ast.fix_missing_locations(tree))
            ast.parse(written)
        except (SyntaxError, ValueError, RecursionError, AttributeError, TypeError, IndexError, MemoryError):
            continue  # what was changed cannot be written down: other changes are tried
        return written
    return text


class _Pieces:
    """Statements and expressions of another program."""

    def __init__(self, tree: ast.AST) -> None:
        nodes = list(ast.walk(tree))
        self.statements = [node for node in nodes if isinstance(node, ast.stmt)]
        self.expressions = [node for node in nodes if isinstance(node, ast.expr) and _is_read(node)]

    def statement(self, random: Random) -> ast.stmt:
        if self.statements and random.random() < 0.6:
            return copy.deepcopy(random.choice(self.statements))
        return ast.parse(random.choice(STATEMENTS)).body[0]

    def expression(self, random: Random) -> ast.expr:
        if self.expressions and random.random() < 0.6:
            return copy.deepcopy(random.choice(self.expressions))
        return ast.parse(random.choice(EXPRESSIONS), mode="eval").body


def _is_read(node: ast.AST) -> bool:
    context = getattr(node, "ctx", None)
    return (context is None or isinstance(context, ast.Load)) and not isinstance(
        node, (ast.Slice, ast.Starred, ast.FormattedValue)
    )


def _bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    fields = ((node, name) for node in ast.walk(tree) for name in ("body", "orelse", "finalbody"))
    found = (getattr(node, name, None) for node, name in fields)
    return [body for body in found if isinstance(body, list) and body]


def _places(tree: ast.AST) -> list[tuple[Any, str, int | None]]:
    """Where an expression that is read stands: its parent, the field, and the place in it if it is a list."""
    return list(_all_places(tree))


def _all_places(tree: ast.AST) -> Iterator[tuple[Any, str, int | None]]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.JoinedStr, ast.pattern)):
            continue
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and _is_read(value):
                yield node, name, None
            elif isinstance(value, list):
                yield from (
                    (node, name, n) for n, one in enumerate(value) if isinstance(one, ast.expr) and _is_read(one)
                )


def _get(place: tuple[Any, str, int | None]) -> ast.expr:
    node, name, index = place
    found: ast.expr = getattr(node, name) if index is None else getattr(node, name)[index]
    return found


def _put(place: tuple[Any, str, int | None], value: ast.expr) -> None:
    node, name, index = place
    if index is None:
        setattr(node, name, value)
    else:
        getattr(node, name)[index] = value


def _replace_expression(tree: ast.Module, pieces: _Pieces, random: Random) -> None:
    _put(random.choice(_places(tree)), pieces.expression(random))


def _swap_expressions(tree: ast.Module, _: _Pieces, random: Random) -> None:
    places = _places(tree)
    one, other = random.choice(places), random.choice(places)
    first, second = copy.deepcopy(_get(one)), copy.deepcopy(_get(other))
    _put(one, second)
    _put(other, first)


def _insert_statement(tree: ast.Module, pieces: _Pieces, random: Random) -> None:
    body = random.choice(_bodies(tree))
    body.insert(random.randrange(len(body) + 1), pieces.statement(random))


def _delete_statement(tree: ast.Module, _: _Pieces, random: Random) -> None:
    body = random.choice(_bodies(tree))
    body[random.randrange(len(body))] = ast.Pass()


def _repeat_statement(tree: ast.Module, _: _Pieces, random: Random) -> None:
    body = random.choice(_bodies(tree))
    body.insert(random.randrange(len(body)), copy.deepcopy(random.choice(body)))


def _swap_statements(tree: ast.Module, _: _Pieces, random: Random) -> None:
    one, other = random.choice(_bodies(tree)), random.choice(_bodies(tree))
    first, second = random.randrange(len(one)), random.randrange(len(other))
    one[first], other[second] = copy.deepcopy(other[second]), copy.deepcopy(one[first])


def _wrap_statements(tree: ast.Module, _: _Pieces, random: Random) -> None:
    """Put a body into a loop, a branch, a function, a class, and that again."""
    body = random.choice(_bodies(tree))
    heads = (
        "for x in x: pass", "while x: pass", "if x: pass", "with x: pass", "def x(self, *x): pass", "class x(x): pass",
        "async def x(x): pass", "class x(nn.Module): pass",
    )  # fmt: skip
    for _ in range(random.choice((1, 1, 2, 10, 40))):
        around: Any = ast.parse(random.choice(heads)).body[0]
        around.body = list(body)
        body[:] = [around]


def _nest(tree: ast.Module, pieces: _Pieces, random: Random) -> None:
    """Put an expression into calls, attributes, sums and conditions around it."""
    place = random.choice(_places(tree))
    value = _get(place)
    for _ in range(random.choice((1, 3, 20, 80))):
        other = pieces.expression(random) if random.random() < 0.1 else ast.Name("x", ast.Load())
        value = random.choice(_AROUND)(value, other)
    _put(place, value)


_AROUND: Sequence[Callable[[ast.expr, ast.expr], ast.expr]] = (
    lambda value, other: ast.Call(value, [other], []),
    lambda value, other: ast.Call(other, [value], [ast.keyword("device", other)]),
    lambda value, _: ast.Attribute(value, "to", ast.Load()),
    lambda value, other: ast.BinOp(value, ast.Add(), other),
    lambda value, other: ast.IfExp(other, value, other),
    lambda value, _: ast.Tuple([value], ast.Load()),
    lambda value, other: ast.Subscript(value, other, ast.Load()),
    lambda value, other: ast.BoolOp(ast.Or(), [value, other]),
    lambda value, _: ast.UnaryOp(ast.Not(), value),
    lambda value, other: ast.NamedExpr(ast.Name("y", ast.Store()), value),
    lambda value, other: ast.Lambda(ast.parse("lambda x: 0", mode="eval").body.args, value),  # type: ignore[attr-defined]
)


def _rename(tree: ast.Module, _: _Pieces, random: Random) -> None:
    """Let two names of the program become one, or one become a name that means something."""
    names = sorted({node.id for node in ast.walk(tree) if isinstance(node, ast.Name)})
    if not names:
        return
    old, new = random.choice(names), random.choice((*names, *NAMES))
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value == old and isinstance(value, str) and not isinstance(node, (ast.Constant, ast.ImportFrom)):
                setattr(node, name, new)


def _bind_to_itself(tree: ast.Module, _: _Pieces, random: Random) -> None:
    """Let what is assigned to a name be made of that name, or of another one that is assigned."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    if found:
        node = random.choice(found)
        of = ast.unparse(random.choice((node, random.choice(found))).targets[0])
        node.value = ast.parse(random.choice(_MADE_OF).format(of), mode="eval").body


_MADE_OF = (
    "{0}", "torch.device({0})", "{0}.to({0})", "{0}.cuda()", "{0}.manual_seed(0)", "{0}.module", "{0}[0]", "[{0}]",
    "{0} or x", "{0} if x else {0}", "str({0})", "torch.load({0})", "f({0})", "{0}()", "lambda: {0}",
)  # fmt: skip


def _become_torch(tree: ast.Module, _: _Pieces, random: Random) -> None:
    """Take what is imported from torch, and let the classes be Modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module != "__future__" and random.random() < 0.5:
            node.module, node.level = random.choice(("torch", "torch.nn", "torch.nn.functional", "torch.cuda")), 0
        elif isinstance(node, ast.Import):
            for alias in node.names:
                alias.asname = alias.asname or alias.name.partition(".")[0]
                alias.name = random.choice(("torch", "torch.nn", alias.name))
        elif isinstance(node, ast.ClassDef) and random.random() < 0.7:
            node.bases = [ast.parse("torch.nn.Module", mode="eval").body]


def _derive(tree: ast.Module, _: _Pieces, random: Random) -> None:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    if classes:
        base = random.choice((*BASES, *(each.name for each in classes)))
        call: Any = ast.parse(f"f({base})", mode="eval").body
        random.choice(classes).bases.append(call.args[0])


def _decorate(tree: ast.Module, _: _Pieces, random: Random) -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    if found := [node for node in ast.walk(tree) if isinstance(node, kinds)]:
        decorator = ast.parse(random.choice(DECORATORS), mode="eval").body
        random.choice(found).decorator_list.append(decorator)


def _make_async(tree: ast.Module, _: _Pieces, random: Random) -> None:
    pairs = {ast.FunctionDef: ast.AsyncFunctionDef, ast.For: ast.AsyncFor, ast.With: ast.AsyncWith}
    for body in _bodies(tree):
        for place, node in enumerate(body):
            if (kind := pairs.get(type(node))) is not None and random.random() < 0.5:
                fields = {name: getattr(node, name) for name in node._fields}
                body[place] = kind(**fields)


def _change_constant(tree: ast.Module, _: _Pieces, random: Random) -> None:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    if found:
        values = (
            None,
            ...,
            True,
            -1,
            10**400,
            1e999,
            1j,
            "",
            "cuda",
            "cuda:-1",
            "\x1b\u202e",
            b"\xff",
            "x" * 3000,
            "\ud800",
        )
        node = random.choice(found)
        node.value, node.kind = random.choice((random.choice(found).value, random.choice(values))), None


_CHANGES: Sequence[Callable[[ast.Module, _Pieces, Random], None]] = (
    _replace_expression, _replace_expression, _replace_expression, _swap_expressions, _swap_expressions,
    _insert_statement, _insert_statement, _insert_statement, _delete_statement, _repeat_statement, _swap_statements,
    _wrap_statements, _nest, _rename, _rename, _bind_to_itself, _become_torch, _derive, _decorate, _make_async,
    _change_constant,
)  # fmt: skip
