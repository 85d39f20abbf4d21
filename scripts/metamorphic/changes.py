"""Changes of a program that leave what it does: each gives the text of the same program written another way.

A change keeps every line that was there as a line, so that the marks of a case (``# want: TDL003``) stay at the code
that they are about. Where it cannot be made of a program, it gives None.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable

from metamorphic import spelled
from metamorphic.editing import (
    CHOSEN,
    FILLER,
    FunctionNode,
    as_bound,
    bound,
    called,
    continued,
    edited,
    functions,
    in_functions,
    indented,
    inserted,
    is_head,
    is_opaque,
    is_torch,
    main_of,
    named,
    own,
    replaced,
    statements,
    with_head,
    with_torch,
)  # fmt: skip
from metamorphic.folders import beside_its_like, beside_others, cell_by_cell, split

ASKING = frozenset("called unrolled under_autocast split beside_others beside_its_like cell_by_cell".split())
"""Changes by which the program asks for CUDA earlier, or another way, than before."""
ABOUT_ASKING = frozenset({"TDL301", "TDL302", "TDL308", "TDL503"})
"""Rules that this changes something for."""

Change = Callable[[str], "str | None"]


def unrolled(text: str) -> str | None:
    """What `main` does is done under the guard, on the device that is there."""
    tree = ast.parse(text)
    main = main_of(tree)
    if main is None or main is not tree.body[-1] or in_functions(main, ast.Return) or named(tree, "__name__"):
        return None
    if any(isinstance(each, ast.Compare) and named(each, "device") for each in ast.walk(main)):
        return None  # it takes a text
    head = ['if __name__ == "__main__":', f"    device = {CHOSEN}"]
    if any(isinstance(each, ast.Import) for each in main.body):
        head[1:1] = ["    import torch"]
    lines = text.splitlines()
    return "\n".join([*with_torch("\n".join(lines[: main.lineno - 1])).splitlines(), *head, *lines[main.lineno :]])


def in_function(text: str) -> str | None:
    """The statements of a script become a function that is called under the guard."""
    tree = ast.parse(text)
    at = next((i for i, node in enumerate(tree.body) if not is_head(node)), len(tree.body))
    rest = tree.body[at:]
    if not rest or any(isinstance(node, FunctionNode | ast.ClassDef) for node in tree.body) or named(tree, "__name__"):
        return None
    first = rest[0].lineno
    head = text.splitlines()[: first - 1]
    return "\n".join([*head, "def main():", *indented(text, first), "", 'if __name__ == "__main__":', "    main()"])


def after_others(text: str) -> str | None:
    """Functions, classes, imports, branches and loops that do not matter come first."""
    return with_head(text, [*FILLER.splitlines(), ""])


def locals_renamed(text: str) -> str | None:
    """What functions bind, but for their arguments and for devices, is called otherwise."""
    return _renamed(text)


def aliased(text: str) -> str | None:
    """``import torch as th``."""
    tree = ast.parse(text)
    plain = [n for n in ast.walk(tree) if isinstance(n, ast.Import) and [as_bound(a) for a in n.names] == ["torch"]]
    if not plain or any("torch." in a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names):
        return None
    if bound(tree, "torch") > len(plain):
        return None
    edits = [(node, "import torch as th") for node in plain]
    edits += [(n, "th") for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "torch"]
    return edited(text, edits)


def members_imported(text: str) -> str | None:
    """``from torch import zeros``, and ``zeros(3)``."""
    tree = ast.parse(text)
    if not any(isinstance(n, ast.Import) and [as_bound(a) for a in n.names] == ["torch"] for n in tree.body):
        return None
    if any(n.arg == "torch" for n in ast.walk(tree) if isinstance(n, ast.arg)):
        return None
    used = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and is_torch(n.value)]
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | set(dir(builtins))
    taken |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    taken |= {as_bound(a) for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names}
    taken |= {n.name for n in ast.walk(tree) if isinstance(n, FunctionNode | ast.ClassDef)}
    used = [n for n in used if n.attr not in taken and isinstance(n.ctx, ast.Load)]
    if not used:
        return None
    names = ", ".join(sorted({node.attr for node in used}))
    changed = edited(text, [(node, node.attr) for node in used])
    return re.sub(r"(?m)^import torch$", f"import torch; from torch import {names}", changed, count=1)


def in_class(text: str) -> str | None:
    """`main` becomes a method of an object that knows the device."""
    tree = ast.parse(text)
    main = main_of(tree)
    if main is None or named(tree, "main") or in_functions(main, ast.Global) or not named(main, "device"):
        return None
    lines = text.splitlines()
    end = main.end_lineno or main.lineno
    body = indented(text, main.lineno + 1, end)
    return "\n".join(
        [
            *lines[: main.lineno - 1],
            "class Experiment:",
            "    def __init__(self, device):",
            "        self.device = device",
            "",
            "    def run(self):",
            "        device = self.device",
            *body,
            "",
            "",
            "def main(device):",
            "    return Experiment(device).run()",
            *lines[end:],
        ]
    )


def nested(text: str) -> str | None:
    """`main` is a closure over the device."""
    tree = ast.parse(text)
    main = main_of(tree)
    if main is None:
        return None
    lines = text.splitlines()
    end = main.end_lineno or main.lineno
    body = indented(text, main.lineno + 1, end)
    start = [*lines[: main.lineno - 1], "def main(device):", "    def work():"]
    return "\n".join([*start, *body, "", "    return work()", *lines[end:]])


def annotated(text: str) -> str | None:
    """What is bound is annotated, with a type that says nothing."""
    tree = ast.parse(text)
    edits: list[tuple[int, int, int, str]] = []
    for function in functions(tree):
        outer = {n for each in ast.walk(function) if isinstance(each, ast.Global | ast.Nonlocal) for n in each.names}
        for node in own(function):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                target = node.targets[0]
                if target.id not in outer:
                    edits.append((target.lineno, target.end_col_offset or 0, target.end_col_offset or 0, ": object"))
    return replaced(text, edits) if edits else None


def documented(text: str) -> str | None:
    """Each function has a docstring, and comments stand between its statements."""
    tree = ast.parse(text)
    before: dict[int, list[str]] = {}
    for function in functions(tree):
        for index, node in enumerate(statements(function)):
            row = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
            if row == function.lineno or text.splitlines()[row - 1][: node.col_offset].strip():
                continue
            first = '"""Does what it is called."""' if index == 0 and node is function.body[0] else "# the next step"
            if ast.get_docstring(function) is None or index:
                before.setdefault(row, []).append(" " * node.col_offset + first)
    return inserted(text, before) if before else None


def without_gradients(text: str) -> str | None:
    return _wrapped(text, "with torch.no_grad():")


def under_autocast(text: str) -> str | None:
    return _wrapped(text, 'with torch.autocast("cuda"):')


def tried(text: str) -> str | None:
    return _wrapped(text, "try:", ["finally:", "    pass"])


def tried_with_handler(text: str) -> str | None:
    return _wrapped(text, "try:", ["except KeyboardInterrupt:", "    raise"])


def in_epochs(text: str) -> str | None:
    return _wrapped(text, "for _epoch in range(2):")


def under_profiler(text: str) -> str | None:
    return _wrapped(text, "with torch.profiler.profile() as _profile:")


IN_PLACE: dict[str, Change] = {
    each.__name__: each
    for each in (
        called, unrolled, in_function, after_others, locals_renamed, aliased, members_imported, in_class, nested,
        annotated, documented, without_gradients, under_autocast, tried, tried_with_handler, in_epochs, under_profiler,
        spelled.walrus, spelled.unchained, spelled.device_as_object, spelled.keyworded,
        spelled.decorated, spelled.in_config, spelled.on_self,
    )
}  # fmt: skip
"""Changes within a file, by name."""
IN_FOLDER: dict[str, Callable[[str], dict[str, str] | None]] = {
    each.__name__: each for each in (split, beside_others, beside_its_like, cell_by_cell)
}
"""Changes that make several files of one, by name."""


ALL = (*IN_PLACE, *IN_FOLDER)


def made(name: str, text: str) -> dict[str, str] | None:
    """The files that a change makes of a program, if it can be made of it and gives programs."""
    if not _is_program(text):
        return None
    if name in IN_FOLDER:
        files = IN_FOLDER[name](text)
    else:
        changed = IN_PLACE[name](text)
        files = None if changed is None else {"case.py": changed}
    if files is None or not all(_is_program(each) for path, each in files.items() if path.endswith(".py")):
        return None
    return files


def _is_program(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _renamed(text: str) -> str | None:
    tree = ast.parse(text)
    shared = {n for each in ast.walk(tree) if isinstance(each, ast.Global | ast.Nonlocal) for n in each.names}
    edits: list[tuple[int, int, int, str]] = []
    for function in functions(tree):
        if any(function in ast.walk(other) and function is not other for other in functions(tree)):
            continue
        inner = [each for each in ast.walk(function) if isinstance(each, FunctionNode | ast.Lambda | ast.ClassDef)]
        if len(inner) > 1 or any(is_opaque(each) for each in ast.walk(function)):
            continue
        bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        given = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        names = sorted(each for each in bound - given - shared - {"_"} if "device" not in each)
        new = {name: f"v{index}" for index, name in enumerate(names)}
        read = [each for each in ast.walk(function) if isinstance(each, ast.Name) and each.id in new]
        edits += [(each.lineno, each.col_offset, each.end_col_offset or 0, new[each.id]) for each in read]
    return replaced(text, edits) if edits else None


def _wrapped(text: str, head: str, tail: list[str] | None = None) -> str | None:
    """The text with the body of each innermost function, but constructors, in a compound statement.

    What returns has no second round, and stays as it is where that is a loop.
    """
    tree = ast.parse(text)
    if "torch." in head and not re.search(r"(?m)^import torch$", text):
        return None
    lines, done = text.splitlines(), False
    whole = set(continued(tree))
    for function in sorted(functions(tree), key=lambda node: -node.lineno):
        if function.name == "__init__" or len(list(functions(function))) > 1:
            continue
        kept = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, *([ast.Return] if head.startswith("for") else []))
        if any(isinstance(each, kept) for each in ast.walk(function)):
            continue
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        if not body or body[0].lineno == function.lineno or isinstance(body[0], FunctionNode | ast.ClassDef):
            continue
        first, last = body[0].lineno - 1, body[-1].end_lineno or 0
        margin = " " * body[0].col_offset
        rows = enumerate(lines[first:last], first + 1)
        inner = [line if row in whole or not line else "    " + line for row, line in rows]
        lines[first:last] = [margin + head, *inner, *(margin + line for line in tail or ())]
        done = True
    return "\n".join(lines) if done else None
