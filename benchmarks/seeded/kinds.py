"""The kinds of seeded bugs: each undoes, by one edit, what makes a line of right code right on an accelerator.

A kind is a function from the text of a file to its seeds. An edit keeps the number of lines, so that every other line
stays where it is. Whether a seed is a bug in its program is for a reader to say: what is moved may have been there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

FACTORIES = frozenset(
    """
    arange empty eye full linspace logspace ones rand randint randn randperm tensor tril_indices triu_indices zeros
    """.split()
)
LIKE = {"empty", "full", "ones", "rand", "randn", "zeros"}
NEW = {"empty", "full", "ones", "tensor", "zeros"}
CONTAINERS = {"ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
_DEVICE = re.compile(r"device|cuda|gpu", re.IGNORECASE)
"""Names of devices, which tell a move from a change of the dtype."""
_MODULE = re.compile(
    r"model|net|module|encoder|decoder|criterion|loss|layer|pipe|unet|vae|generator|discriminator", re.IGNORECASE
)
"""Names of Modules, which ``.to(..)`` moves in place."""


@dataclass(frozen=True)
class Seed:
    """One edit of a file, from line `row` to `last_row`: the bytes from `start` to `end` become `new`."""

    kind: str
    row: int
    last_row: int
    start: int
    end: int
    new: bytes

    def applied(self, data: bytes) -> bytes:
        return data[: self.start] + self.new + data[self.end :]


class File:
    """A file of right code: its bytes, its tree, and what `torch` is called in it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tree = ast.parse(data)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [each for each in self.nodes if isinstance(each, ast.Call)]

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    @cached_property
    def _modules(self) -> dict[str, str]:
        """What names of the file stand for modules and names of torch: ``nn`` for ``torch.nn``."""
        names: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                names.update({each.asname or each.name: each.name for each in node.names})
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        return {name: full for name, full in names.items() if full == "torch" or full.startswith("torch.")}

    @property
    def has_torch(self) -> bool:
        """Whether ``import torch``, or ``import torch.nn``, has bound the name `torch`."""
        return any(name == full for name, full in self._modules.items())

    def of_torch(self, node: ast.expr) -> str:
        """The full name of what `node` names in torch, or an empty text: ``torch.zeros``, ``torch.nn.ModuleList``."""
        if isinstance(node, ast.Name):
            return self._modules.get(node.id, "")
        if isinstance(node, ast.Attribute):
            holder = self.of_torch(node.value)
            return f"{holder}.{node.attr}" if holder else ""
        return ""

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        return self._line_starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._line_starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, node: ast.expr | ast.keyword) -> bytes:
        return self.data[self.start(node) : self.end(node)]

    def replaced(self, kind: str, node: ast.expr, new: bytes, head: bytes = b"") -> Seed:
        """`node` as `head` and `new`, in parentheses that hold as many line breaks as are lost."""
        lost = self.text(node).count(b"\n") - new.count(b"\n")
        return self.seed(
            kind, node, self.start(node), self.end(node), head + (b"(" + new + b"\n" * lost + b")" if lost else new)
        )

    def without(self, kind: str, call: ast.Call, keyword: ast.keyword) -> Seed:
        """`call` without one of its keywords and the comma beside it."""
        others = sorted((each for each in [*call.args, *call.keywords] if each is not keyword), key=self.start)
        before = [each for each in others if self.start(each) < self.start(keyword)]
        after = [each for each in others if self.start(each) > self.start(keyword)]
        start = self.end(before[-1]) if before else self.start(keyword)
        end = self.end(keyword) if before or not after else self.start(after[0])
        return self.seed(kind, keyword, start, end, b"\n" * self.data[start:end].count(b"\n"))

    def seed(self, kind: str, node: ast.expr | ast.stmt | ast.keyword, start: int, end: int, new: bytes) -> Seed:
        return Seed(kind, node.lineno, node.end_lineno or node.lineno, start, end, new)


def _keyword(call: ast.Call, name: str) -> ast.keyword | None:
    return next((each for each in call.keywords if each.arg == name), None)


def factory(file: File) -> Iterator[Seed]:
    """``torch.zeros(3, device=d)`` loses its device."""
    for call in file.calls:
        module, _, name = file.of_torch(call.func).rpartition(".")
        given = _keyword(call, "device") if module == "torch" and name in FACTORIES else None
        if given is not None and not isinstance(given.value, ast.Constant) and b"cpu" not in file.text(given.value):
            yield file.without("factory", call, given)


def like(file: File) -> Iterator[Seed]:
    """``torch.zeros_like(x)`` and ``x.new_zeros(3)`` become ``torch.zeros(..)`` on the default device.

    Only in files that have `torch` by this name, since the program would not run otherwise.
    """
    for call in file.calls if file.has_torch else ():
        if any(isinstance(each, ast.Starred) for each in call.args) or not call.args:
            continue
        module, _, name = file.of_torch(call.func).rpartition(".")
        plain = name.removesuffix("_like")
        rest = [file.text(each) for each in [*call.args[1:], *call.keywords] if getattr(each, "arg", "") != "device"]
        if module == "torch" and name != plain and plain in LIKE:
            shape = file.text(call.args[0]) + b".shape"
            yield file.replaced("like", call, b"torch." + plain.encode() + b"(" + b", ".join([shape, *rest]) + b")")
        elif isinstance(call.func, ast.Attribute) and call.func.attr.startswith("new_") and call.func.attr[4:] in NEW:
            given = b", ".join([file.text(call.args[0]), *rest])
            yield file.replaced("like", call, b"torch." + call.func.attr[4:].encode() + b"(" + given + b")")


def buffer(file: File) -> Iterator[Seed]:
    """``self.register_buffer("mask", t)`` becomes ``self.mask = t``."""
    for statement in file.nodes:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        value = _keyword(call, "tensor")
        given = value.value if value is not None else call.args[1] if len(call.args) > 1 else None
        name = call.args[0] if call.args else None
        if call.func.attr != "register_buffer" or given is None or not isinstance(name, ast.Constant):
            continue
        if isinstance(name.value, str) and name.value.isidentifier() and not isinstance(given, ast.Constant):
            target = file.text(call.func.value) + b"." + name.value.encode()
            yield file.replaced("buffer", call, file.text(given), target + b" = ")


def container(file: File) -> Iterator[Seed]:
    """``nn.ModuleList([..])`` becomes the plain list."""
    for call in file.calls:
        module, _, name = file.of_torch(call.func).rpartition(".")
        if module != "torch.nn" or name not in CONTAINERS or call.keywords:
            continue
        if not call.args:
            yield file.replaced("container", call, b"{}" if name.endswith("Dict") else b"[]")
        elif len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
            text = file.text(call.args[0])
            if not isinstance(call.args[0], (ast.List, ast.ListComp, ast.Dict, ast.DictComp)):
                text = (b"dict(" if name.endswith("Dict") else b"list(") + text + b")"
            yield file.replaced("container", call, text)


def numpy(file: File) -> Iterator[Seed]:
    """``x.cpu().numpy()`` becomes ``x.numpy()``."""
    for call in file.calls:
        before = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "numpy" else None
        if isinstance(before, ast.Call) and isinstance(before.func, ast.Attribute) and before.func.attr == "cpu":
            yield file.replaced("numpy", before, file.text(before.func.value))


def _is_move(file: File, call: ast.expr) -> bool:
    """``x.to(device)``, ``x.cuda()``: a move of what seems to be no Module, to what seems to be no dtype."""
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)) or file.of_torch(call.func):
        return False
    if _MODULE.search(file.text(call.func.value).decode(errors="replace")):
        return False
    said = b" ".join(file.text(each) for each in [*call.args, *call.keywords]).decode(errors="replace")
    return call.func.attr == "cuda" or (call.func.attr == "to" and _DEVICE.search(said) is not None)


def _moves_of_names(file: File) -> list[ast.Assign]:
    """The statements that move what they bind: ``x = x.to(device)``."""
    assigned = (each for each in file.nodes if isinstance(each, ast.Assign) and len(each.targets) == 1)
    return [each for each in assigned if _is_move(file, each.value) and _is_of_itself(each)]


def _is_of_itself(statement: ast.Assign) -> bool:
    moved = statement.value.func.value  # type: ignore[attr-defined]
    return ast.dump(statement.targets[0]).replace("Store()", "Load()") == ast.dump(moved)


def result(file: File) -> Iterator[Seed]:
    """``x = x.to(device)`` becomes ``x.to(device)``, whose result is thrown away."""
    for statement in _moves_of_names(file):
        yield file.seed("result", statement, file.start(statement), file.start(statement.value), b"")


def move(file: File) -> Iterator[Seed]:
    """``f(x.to(device))`` becomes ``f(x)``; of ``x = x.to(device)`` nothing is left, as where nobody thought of it."""
    bare = {id(each.value) for each in file.nodes if isinstance(each, ast.Expr)}
    alone = {id(each.value): each for each in _moves_of_names(file)}
    for call in file.calls:
        if id(call) in alone:
            start, end = file.start(alone[id(call)]), file.end(alone[id(call)])
            yield file.seed("move", alone[id(call)], start, end, b"pass" + b"\n" * file.data[start:end].count(b"\n"))
        elif id(call) not in bare and _is_move(file, call):
            yield file.replaced("move", call, file.text(call.func.value))  # type: ignore[attr-defined]


def map_location(file: File) -> Iterator[Seed]:
    """``torch.load(path, map_location=d)`` loses its place."""
    for call in file.calls:
        given = _keyword(call, "map_location") if file.of_torch(call.func) == "torch.load" else None
        if given is not None:
            yield file.without("map_location", call, given)


def prefix(file: File) -> Iterator[Seed]:
    """``model.module.state_dict()`` becomes ``model.state_dict()``."""
    for call in file.calls:
        holder = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "state_dict" else None
        if isinstance(holder, ast.Attribute) and holder.attr == "module" and file.text(holder.value) != b"self":
            yield file.replaced("prefix", holder, file.text(holder.value))


def literal(file: File) -> Iterator[Seed]:
    """``device=x.device`` and ``.to(x.device)`` become ``"cuda"``."""
    for call in file.calls:
        moves = isinstance(call.func, ast.Attribute) and call.func.attr == "to"
        given = [each.value for each in call.keywords if each.arg == "device"] + (call.args[:1] if moves else [])
        of_tensors = (each for each in given if isinstance(each, ast.Attribute) and each.attr == "device")
        for each in of_tensors:
            if file.text(each.value) not in (b"self", b"torch"):
                yield file.replaced("literal", each, b'"cuda"')


KINDS: dict[str, Callable[[File], Iterator[Seed]]] = {
    each.__name__: each
    for each in (literal, map_location, result, like, factory, container, buffer, numpy, move, prefix)
}
