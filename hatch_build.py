"""Build hook for wheels whose hot modules are compiled by mypyc; off by default.

    HATCH_BUILD_HOOKS_ENABLE=1 python -m build --wheel

Which packages are compiled stands in `pyproject.toml`. A module in them stays as it is where mypyc would change what it
means: see `stays_interpreted`. Everything is built in a temporary folder, so that the checkout stays without compiled
files, which Python would prefer to the sources beside them. (hatch-mypyc builds in place, and moves `pyproject.toml`
away meanwhile.)
"""

from __future__ import annotations

import ast
import os
import shutil
import sys
import tempfile
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NEEDS = ["mypy>=2.4,<3", "setuptools>=75,<90"]


class CompiledModules(BuildHookInterface):
    """Adds what mypyc makes of the modules to a wheel, beside their sources."""

    PLUGIN_NAME = "custom"
    scratch: Path | None = None

    def dependencies(self) -> list[str]:
        return NEEDS

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; of an editable install nothing is, since there the sources are what counts."""
        if version == "editable":
            return
        modules = compiled_modules(Path(self.root), self.config["packages"])
        self.scratch = Path(tempfile.mkdtemp(prefix="mypyc-"))
        built = self.scratch / "built"
        compile_to(built, self.scratch, Path(self.root), modules, os.environ.get("MYPYC_OPT_LEVEL", "2"))
        build_data["pure_python"], build_data["infer_tag"] = False, True
        files = [path for path in sorted(built.rglob("*")) if path.is_file()]
        build_data["force_include"].update({str(path): path.relative_to(built).as_posix() for path in files})

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind; called once the wheel is written."""
        if self.scratch is not None:
            shutil.rmtree(self.scratch)


def compiled_modules(root: Path, packages: Sequence[str]) -> list[str]:
    """The paths, relative to `root`, of what is compiled of the packages and single modules of a project."""
    named = (root / package for package in packages)
    files = (file for path in named for file in ([path] if path.suffix else sorted(path.rglob("*.py"))))
    trees = {file.relative_to(root): ast.parse(file.read_bytes()) for file in files}
    iterators = {f"{_dotted(file)}.{name}" for file, tree in trees.items() for name in functions_that_iterate(tree)}
    return [
        file.as_posix() for file, tree in trees.items() if tree.body and not any(stays_interpreted(tree, iterators))
    ]


def _dotted(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)


def functions_that_iterate(tree: ast.Module) -> Iterator[str]:
    """The functions on the top level that are annotated to give an iterator, as all generators are here."""
    for node in tree.body:
        given = node.returns if isinstance(node, ast.FunctionDef) else None
        if isinstance(given, ast.Subscript) and _is_named(given.value, "Iterator"):
            yield node.name  # type: ignore[attr-defined]


def stays_interpreted(tree: ast.Module, iterators: Container[str] = ()) -> Iterator[str]:
    """What mypyc would change the meaning of, or cannot compile: reasons to leave a module as it is.

    The options of a class (``frozen=True``) are dropped, without a word; a class that inherits them is well. A record's
    field that is made by a call is taken for what it is annotated as. The result of a cached property is not kept.
    Only containers can be asked what is ``in`` them, and not a display with stars; `iterators` are the dotted names of
    functions of other modules that give none. A class that is derived from most types of Python itself cannot be
    compiled.
    """
    none = {*_ITERATORS, *functions_that_iterate(tree), *_imported(tree, iterators)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and _is_record_with_options(node):
            yield f"line {node.lineno}: {node.name} is a record with options, or with fields that are made by calls"
        elif isinstance(node, ast.ClassDef) and any(_is_named(base, name) for base in node.bases for name in _BUILT_IN):
            yield f"line {node.lineno}: {node.name} is derived from a type of Python itself"
        elif isinstance(node, ast.FunctionDef) and _is_cached_property(node):
            yield f"line {node.lineno}: {node.name} is a cached property"
        elif isinstance(node, ast.Compare) and any(
            _is_no_container(operator, asked, none)
            for operator, asked in zip(node.ops, node.comparators, strict=True)
        ):
            yield f"line {node.lineno}: asks what is in an iterator or a display with stars"


_BUILT_IN = ("str", "int", "float", "tuple", "list", "set", "frozenset", "bytes")
_ITERATORS = ("map", "filter", "zip", "chain")


def _imported(tree: ast.Module, dotted: Container[str]) -> Iterator[str]:
    """The names by which a module knows what it imports by one of these dotted names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (each.asname or each.name for each in node.names if f"{node.module}.{each.name}" in dotted)


def _is_record_with_options(node: ast.ClassDef) -> bool:
    made = (isinstance(each, ast.AnnAssign) and isinstance(each.value, ast.Call) for each in node.body)
    return any(_is_named(base, "Struct") for base in node.bases) and (bool(node.keywords) or any(made))


def _is_cached_property(node: ast.FunctionDef) -> bool:
    return any(_is_named(each, "cached_property") for each in node.decorator_list)


def _is_no_container(operator: ast.cmpop, node: ast.expr, iterators: Container[str]) -> bool:
    if not isinstance(operator, (ast.In, ast.NotIn)):
        return False
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return any(isinstance(each, ast.Starred) for each in node.elts)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in iterators


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def compile_to(built: Path, scratch: Path, root: Path, modules: Sequence[str], level: str) -> None:
    """Compile the `modules` below `root` into a tree of extension modules at `built`."""
    from mypyc.build import mypycify
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    class InParallel(build_ext):
        """Compiles the files of an extension side by side."""

        def build_extensions(self) -> None:
            compile_files = self.compiler.compile

            def compile_all(sources: Sequence[str], *given: Any, **options: Any) -> list[str]:
                with ThreadPoolExecutor(os.cpu_count()) as pool:
                    objects = pool.map(lambda source: compile_files([source], *given, **options), sources)
                    return [each for found in objects for each in found]

            self.compiler.compile = compile_all
            super().build_extensions()

    around = Path.cwd()
    os.environ["MYPY_CACHE_DIR"] = str(scratch / "cache")
    os.chdir(root)
    try:
        extensions = mypycify(
            list(modules), opt_level=level, debug_level="0", multi_file=True, target_dir=str(scratch / "c")
        )
        for extension in extensions:
            if sys.platform == "linux":
                extension.extra_link_args = [*extension.extra_link_args, "-Wl,--strip-all"]
        distribution = Distribution({"name": root.name, "ext_modules": extensions})
        command = InParallel(distribution)
        command.build_lib, command.build_temp = str(built), str(scratch / "objects")
        command.ensure_finalized()
        command.run()
    finally:
        os.chdir(around)
