"""Tests, and classes that they define for themselves or as fixtures: where they are run, the tests say."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import PurePath

from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.modules import LossNotMoved
from torchdevlint.flow.facts.tensors import MixedDevices, ReadOnHost
from torchdevlint.flow.programs.texts.places import first_holding, holds
from torchdevlint.flow.scope.names import is_cpu_spec, last_name, mentions_device
from torchdevlint.flow.scope.programs import mentions_accelerators, names_accelerators, without_comments
from torchdevlint.patterns import regex
from torchdevlint.project.locate import root_of
from torchdevlint.project.modules import ModuleFile, ModuleText
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

_IS_CPU = regex(r"^[ \t]*(\w+)[ \t]*=[ \t]*(?:torch\.device\([ \t]*)?['\"]cpu['\"][ \t]*\)?[ \t]*$", re.MULTILINE)
_FIXTURES = "conftest.py"
_IS_TEST = regex(r"test_.*\.py|.*_test\.py|conftest\.py")
_TESTS = frozenset({"test", "tests", "testing"})
_MOST_FILES = 200


def is_test(project: Project) -> bool:
    """Whether a file is a test by its name, or lies in a folder of tests."""
    place = PurePath(from_root(project.path))
    return _IS_TEST.fullmatch(place.name) is not None or not _TESTS.isdisjoint(place.parts[:-1])


def is_met_in_test(fact: Fact, tree: ast.Module, text: str, project: Project) -> bool:
    """Whether the tensors that a fact is about meet in a test, on the CPU: it names that for all that it does, or says
    nothing of devices, and hands its own function what has to be placed. Nor has a test users who give it theirs.
    """
    if not is_test(project):
        return False
    if (isinstance(fact, ReadOnHost) and fact.by_users) or _is_bound_to_cpu(tree, text):
        return True
    is_handed = isinstance(fact, (LossNotMoved, MixedDevices, ReadOnHost)) and fact.of_argument
    return is_handed and _says_nothing_of_devices(text, project)


def is_of_test_on_cpu(tree: ast.Module, lines: Sequence[str], line: int) -> bool:
    """Whether a line is in a class of a test function, and nothing in that has to do with accelerators."""
    classes = [each for each in nodes_in(tree, ast.ClassDef) if holds(each, line)]
    tests = [each for each in nodes_in(tree, ast.FunctionDef) if each.name.startswith("test") and holds(each, line)]
    test = next((each for each in tests if any(each.lineno < inner.lineno for inner in classes)), None)
    if test is None:
        return False
    text = "\n".join(lines[test.lineno - 1 : test.end_lineno])
    for name in _IS_CPU.findall(text):
        text = re.sub(rf"\b{re.escape(name)}\b", "", text)
    return not mentions_accelerators(text)


def _is_bound_to_cpu(tree: ast.Module, source: str) -> bool:
    """Whether a file names the CPU at its top, for all that it does, and no other device: ``DEVICE = "cpu"``.

    A device that is asked for elsewhere, or that a fixture or a parameter of a test gives, may be another one.
    """
    if not any(map(_binds_cpu, tree.body)) or names_accelerators(without_comments(source)):
        return False
    given = (each.arg for each in nodes_in(tree, ast.arg))
    asked = (last_name(each.func) for each in nodes_in(tree, ast.Call) if not is_cpu_spec(each))
    brought = (each.asname or each.name for each in nodes_in(tree, ast.alias))
    return not any(mentions_device(each) for each in (*given, *asked, *brought))


def _says_nothing_of_devices(text: str, project: Project) -> bool:
    """Whether neither a test, nor the fixtures beside and above it, have to do with devices.

    What others import of it may be for their tests.
    """
    if project.importers(project.path) or _mentions(text):
        return False
    place = PurePath(project.path)
    root = root_of(str(place.parent))
    folders = (each for each in place.parents if each.is_relative_to(root))
    fixtures = (project.text_of(str(each / _FIXTURES)) for each in folders)
    return not any(each is not None and _mentions(each.text) for each in fixtures)


def _binds_cpu(statement: ast.stmt) -> bool:
    """``DEVICE = torch.device("cpu")``, or ``CONTEXT = Context(device="cpu")``."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Call) and any(each.arg == "device" and is_cpu_spec(each.value) for each in value.keywords):
        return True
    return value is not None and is_cpu_spec(value)


def is_of_fixture_on_cpu(own: ModuleFile, project: Project, line: int) -> bool:
    """Whether a line is in a class of a ``conftest.py``, and no test that its fixtures are for speaks of accelerators.

    What else the file defines, and does not name the class, may be for them.
    """
    owner = first_holding([each for each in own.tree.body if isinstance(each, ast.ClassDef)], line)
    if owner is None or PurePath(own.path).name != _FIXTURES:
        return False
    naming = (each for each in own.tree.body if each is owner or _names(each, owner.name))
    lines = own.source.lines
    texts = ["\n".join(lines[each.lineno - 1 : each.end_lineno]) for each in naming]
    tests = project.saying(())
    if tests is None or any(map(mentions_accelerators, texts)):
        return False
    others = _run_by_pytest(own.path.removesuffix(_FIXTURES), tests, project)
    return bool(others) and not any(each is None or _mentions(each.text) for each in others)


def _run_by_pytest(folder: str, tests: Sequence[str], project: Project) -> list[ModuleText | None]:
    """The tests below a folder, with what they import of it."""
    run = [each for each in tests if each.startswith(folder) and _IS_TEST.fullmatch(PurePath(each).name)]
    imported = project.import_closure(run, _MOST_FILES) if run else []
    return [] if imported is None else [project.text_of(each) for each in {*run, *imported} if each.startswith(folder)]


def _mentions(text: str) -> bool:
    return mentions_accelerators(without_comments(text))


def _names(node: ast.stmt, name: str) -> bool:
    return any(each.id == name for each in nodes_in(node, ast.Name))
