"""Whether a file that says nothing of PyTorch has something of it from the other files of its project.

The second half of the gate (`torchdevlint.source.gate`), and as sound: names are followed through what binds them, for
as long as nothing on the way says anything of PyTorch. As in the inference, the body of a function counts only if it
has a word that has to do with tensors; that of a method only if something with its name is asked for, too.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator

from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.gate import MOVING_METHODS
from torchdevlint.source.nodes import below, nodes_in

_OTHER_FRAMEWORKS = frozenset(
    "tensorflow mxnet jax paddle keras flax jittor mindspore oneflow megengine tinygrad".split()
)
_OF_PYTORCH = ("_C", "csrc", "lib", "nn/parallel/distributed.py")
"""What there is of PyTorch in its folder: in releases, in its repository, and in old ones."""
_MOST = 400
"""Names that are followed for one file; with more, the answer is yes."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = frozenset({*_FUNCTIONS, ast.ClassDef})
_MOVES = frozenset(MOVING_METHODS.split())


def may_import_findings(module: ModuleFile, project: Project) -> bool:
    """Whether what a file imports may lead to a finding in it; False is certain, True is a guess.

    All that the answer depends on is noted in `project`.
    """
    imports = [*nodes_in(module.tree, ast.Import), *nodes_in(module.tree, ast.ImportFrom)]
    return bool(imports) and not is_of_another_framework(module.tree) and _Search(module, project).finds(imports)


def is_of_another_framework(tree: ast.Module) -> bool:
    """Whether a file imports another framework and not PyTorch, so that the tensors of its project are not torch's."""
    sources = [each.module or "" for each in nodes_in(tree, ast.ImportFrom)]
    sources += [each.name for each in nodes_in(tree, ast.alias)]
    return not any("torch" in each for each in sources) and any(
        each.partition(".")[0] in _OTHER_FRAMEWORKS for each in sources
    )


def is_of_another_torch(path: str) -> bool:
    """Whether a file is of a package that is called `torch` and is not PyTorch, which comes with its C++ as ``_C``.

    A part of another package, such as ``grids.torch``, is imported by that name, and does not stand in for PyTorch.
    """
    parts = os.path.dirname(path).split(os.sep)
    package = os.sep.join(parts[: parts.index("torch") + 1]) if "torch" in parts else ""
    if not package or not os.path.isfile(os.path.join(package, "__init__.py")):
        return False
    if os.path.isfile(os.path.join(os.path.dirname(package), "__init__.py")):
        return False
    return not any(os.path.exists(os.path.join(package, each)) for each in _OF_PYTORCH)


class _Search:
    """One search; `asked` are the names to follow by file, "" for a module of which attributes are read."""

    def __init__(self, home: ModuleFile, project: Project) -> None:
        self.home = home
        self.project = project
        self.names = {each.id for each in nodes_in(home.tree, ast.Name)}
        self.attributes = {each.attr for each in nodes_in(home.tree, ast.Attribute)}
        self.asked: dict[tuple[str, str], None] = {}

    def finds(self, imports: Iterable[ast.AST]) -> bool:
        for node in imports:
            self._import(self.home, node, None)
        known = 0
        while known < len(self.asked) + len(self.attributes):
            known = len(self.asked) + len(self.attributes)
            for path, name in list(self.asked):
                if path != self.home.path and self._is_of_torch(path, name):
                    return True
            if len(self.asked) > _MOST:
                return True
        return False

    def _is_of_torch(self, path: str, name: str) -> bool:
        """Whether a name of another file has to do with PyTorch; if not by itself, what it is made of is asked next."""
        module = self.project.library.get(path) if path.endswith(".py") else None
        if path.endswith(".py"):
            self.project.used(path, name, module)
        if not name:
            for attribute in sorted(self.attributes):
                if module is not None and (module.stars or attribute in module.bindings):
                    self.asked[path, attribute] = None
                else:
                    self._ask_below(path, attribute)
            return False
        statements = module.bindings.get(name, ()) if module is not None else ()
        if not statements:
            for source, level in module.stars if module is not None else ():
                self._ask(path, source, level, name)
            self._ask_below(path, name)
        return any(module is not None and self._says_torch(module, name, each) for each in statements)

    def _says_torch(self, module: ModuleFile, name: str, statement: ast.stmt) -> bool:
        for node in self._run(module, statement):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                if self._import(module, node, name if node is statement else None):
                    return True
            elif isinstance(node, ast.Name) and node.id != name:
                self.asked[module.path, node.id] = None
            elif isinstance(node, ast.Attribute):
                self.attributes.add(node.attr)
                if node.attr in _MOVES or "cuda" in node.attr.lower():
                    return True
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "cuda" in node.value.lower():
                return True
        return False

    def _run(self, module: ModuleFile, statement: ast.stmt) -> Iterator[ast.AST]:
        """The nodes of a statement that count."""
        level: list[ast.AST] = [statement]
        while level:
            yield from level
            if _DEFINITIONS.isdisjoint(map(type, level)):
                parts = below(level)
            else:
                parts = [each for node in level for each in self._parts(module, node)]
            level = [each for each in parts if isinstance(each, ast.AST)]

    def _parts(self, module: ModuleFile, node: ast.AST) -> list[ast.AST]:
        if isinstance(node, ast.ClassDef):
            wanted = [each for each in node.body if not isinstance(each, _FUNCTIONS) or self._is_wanted(each.name)]
            return [*node.bases, *node.keywords, *node.decorator_list, *wanted]
        if isinstance(node, _FUNCTIONS) and not module.speaks_of_tensors(node):
            return [*node.decorator_list, node.args]
        return below([node])

    def _is_wanted(self, method: str) -> bool:
        return method in self.attributes or method == "forward" or method.startswith("__")

    def _import(self, importer: ModuleFile, node: ast.AST, name: str | None) -> bool:
        """Ask for what an import brings, or for what it binds `name` to; True if that is of PyTorch by its name."""
        source, level = (node.module or "", node.level) if isinstance(node, ast.ImportFrom) else ("", 0)
        for alias in getattr(node, "names", ()):
            if name not in (None, alias.asname or alias.name, alias.name.partition(".")[0]):
                continue
            if any(word in text for word in ("torch", "accelerate") for text in (source, alias.name)):
                return True
            if isinstance(node, ast.Import):
                parts = alias.name.split(".")
                for count in range(1, len(parts) + 1):
                    self._ask(importer.path, ".".join(parts[:count]), 0, "")
            elif alias.name == "*":
                for each in sorted(self.names):
                    self._ask(importer.path, source, level, each)
            else:
                self._ask(importer.path, source, level, alias.name)
        return False

    def _ask(self, importer: str, source: str, level: int, name: str) -> None:
        path = self.project.locate(importer, source, level)
        if path is not None:
            self.asked[path, name] = None

    def _ask_below(self, path: str, name: str) -> None:
        found = self.project.submodule(path, name)
        if found is not None:
            self.asked[found, ""] = None
