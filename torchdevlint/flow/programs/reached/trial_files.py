"""Files that nobody imports or names, and that at most try what they define themselves, as nobody needs them.

So are those that only such files import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import PurePath

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.texts.looked_up import LOADED_BY_NAME
from torchdevlint.flow.programs.texts.mentions import names_of
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, public_path
from torchdevlint.flow.scope.programs import is_program, mentions_accelerators, tries_torch_alone
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile, is_main_guard
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BINDING = (*_DEFINITIONS, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
_BY_TEXTS = (*LOADED_BY_NAME, "exec", "locate", "instantiate", "subprocess", "system", "Popen")
"""What comes to a module by a text that names it."""
_MOST_BESIDE = 12
_MOST_SAYING = 40
_WITH_FILES = regex(r"load|save|open|read|write|dump|glob|listdir|dataset|backward|step|fit\b")
"""What is called, in small letters, by what works with files, or trains."""
_MOST_CALLS = 60
"""How many calls try something at most."""
MOST_TOGETHER = 6
"""So many files may import each other and be needed by no other one."""
_CLASSES_OF_A_VERSION = 2
"""So many classes of the same names make two files versions of one; fewer may have their names by chance."""


def is_unused(tree: ast.Module, project: Project, importers: Iterable[ModuleFile] = ()) -> bool:
    """Whether nothing runs the file of a project, or says its name, as others beside it are imported.

    Nobody imports it but its `importers`, which are all that lead there, and nothing runs or imports one of them. When
    it is started, it may try on the CPU what it defines.
    """
    files = {project.path: tree, **{each.path: each.tree for each in importers}}
    if len(files) > 1 and (not all(map(_only_defines, list(files.values())[1:])) or _loads_by_texts(project)):
        return False
    asked = [project, *(Project(each.path, project.library) for each in importers)]
    is_so = all(_is_unused_beside(each, files) for each in asked)
    for each in asked[1:]:
        project.add(each)
    return is_so


def _is_unused_beside(project: Project, files: Mapping[str, ast.Module]) -> bool:
    """Whether nothing else runs one of some files, or says its name, as others beside it are imported by others.

    Where none of these is imported, what would import them may not be there, unless another version of the file is.
    """
    tree = files[project.path]
    if project.path.endswith(NOTEBOOK):
        return False
    if is_program(tree) or not all(_is_trial_on_cpu(tree, each) for each in _own_guards(tree)):
        return False
    return _is_needless(tree, project, files)


def is_only_tried(tree: ast.Module, project: Project) -> bool:
    """Whether nobody imports a file, or says its name, as others beside it are imported, and all that it runs itself is
    to give what it defines tensors of any numbers, on whatever device. It may take options.

    It works with no files there, trains nothing, and takes nothing from others of its project.
    """
    guards = _own_guards(tree)
    if project.path.endswith(NOTEBOOK) or not guards or not _only_defines(tree):
        return False
    run = [each for guard in guards for each in _run_by(tree, guard)]
    read = {each.id for statement in run for each in nodes_in(statement, ast.Name)}
    called = [each for statement in run for each in nodes_in(statement, ast.Call)]
    if len(called) > _MOST_CALLS or any(_WITH_FILES.search(last_name(each.func).lower()) for each in called):
        return False
    makes = any(last_name(each.func) in torch_api.FACTORIES and public_path(each.func) for each in called)
    is_trial = makes and bool(read & _names_defined(tree)) and read.isdisjoint(_taken_from_others(tree, project))
    return is_trial and not project.importers(project.path) and _is_needless(tree, project, {project.path: tree})


def _own_guards(tree: ast.Module) -> list[ast.stmt]:
    return [each for each in tree.body if is_main_guard(each) and not tries_torch_alone(tree, each)]


def _is_needless(tree: ast.Module, project: Project, files: Mapping[str, ast.Module]) -> bool:
    """Whether nothing but some files says the name of one of them, as others beside it are imported by others, or
    another version of it is.
    """
    own, others = project.path, project.saying(()) or ()
    beside = [each for each in others if PurePath(each).parent == PurePath(own).parent and each not in files]
    are_used = any(not files.keys() >= set(project.importers(each)) for each in beside[:_MOST_BESIDE])
    if not are_used and not has_another_version(tree, project):
        return False
    return not _is_said(project, files)


def is_class_tried(tree: ast.Module) -> bool:
    """Whether a file binds names, and no more but to build a class of its own when it is started; its functions may be
    programs.
    """
    classes = {each.name for each in tree.body if isinstance(each, ast.ClassDef)}
    functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    guards = [each for each in tree.body if is_main_guard(each)]
    read = {each.id for guard in guards for each in nodes_in(guard, ast.Name)}
    return bool(read & classes) and not read & functions and all(map(_defines, tree.body))


def is_tried_on_cpu(tree: ast.Module, *, is_imported: bool) -> bool:
    """Whether a file only defines something, or is imported and tries on the CPU what it defines when it is started.

    What parses options is a program, and so is what calls at the top level what it defines.
    """
    guards = [each for each in tree.body if is_main_guard(each)]
    is_so = is_imported and all(_is_trial_on_cpu(tree, each) for each in guards) if guards else True
    return is_so and _only_defines(tree) and not is_program(tree) and not _calls_its_own(tree)


def _calls_its_own(tree: ast.Module) -> bool:
    """Whether a statement of the top level binds a name to what a call of the file's own function or class gives."""
    own = {each.name for each in tree.body if isinstance(each, _DEFINITIONS)}
    bound = [each for each in tree.body if isinstance(each, (ast.Assign, ast.AnnAssign))]
    called = (first_name(dotted_path(call.func) or "") for each in bound for call in nodes_in(each, ast.Call))
    return not own.isdisjoint(called)


def _defines(statement: ast.stmt) -> bool:
    """Whether a statement of the top level only binds names, or is what a file does when it is started."""
    if isinstance(statement, _BINDING) or is_main_guard(statement):
        return True
    return isinstance(getattr(statement, "value", None), ast.Constant)


def _only_defines(tree: ast.Module) -> bool:
    return all(map(_defines, tree.body)) and any(isinstance(each, _DEFINITIONS) for each in tree.body)


def _loads_by_texts(project: Project) -> bool:
    """Whether some code of a project may load modules, or start programs, by texts."""
    return any(project.saying((word,)) != () for word in _BY_TEXTS)


def _is_trial_on_cpu(tree: ast.Module, guard: ast.stmt) -> bool:
    """Whether a file tries what it defines when it is started, loads nothing, and says nothing of accelerators.

    Nor do its functions that it calls then, which are its program.
    """
    if _names_defined(tree).isdisjoint(each.id for each in nodes_in(guard, ast.Name)):
        return False
    run = _run_by(tree, guard)
    loads = any("load" in last_name(each.func) for each in nodes_in(guard, ast.Call))
    return not loads and not any(mentions_accelerators(ast.unparse(each)) for each in run)


def _names_defined(tree: ast.Module) -> frozenset[str]:
    return frozenset(each.name for each in tree.body if isinstance(each, (ast.FunctionDef, ast.ClassDef)))


def _run_by(tree: ast.Module, guard: ast.stmt) -> list[ast.stmt]:
    """What a file does when it is started, with its functions that are read there, and by these."""
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    run = [guard]
    for each in run:
        called = dict.fromkeys(functions.get(name.id) for name in nodes_in(each, ast.Name))
        run += [function for function in called if function is not None and function not in run]
    return run


def _taken_from_others(tree: ast.Module, project: Project) -> Iterator[str]:
    """The names that a file imports from others of its project."""
    for node in nodes_in(tree, ast.Import):
        own = (each for each in node.names if project.locate(project.path, each.name, 0) is not None)
        yield from (each.asname or first_name(each.name) for each in own)
    for imported in nodes_in(tree, ast.ImportFrom):
        if imported.level or project.locate(project.path, imported.module or "", 0) is not None:
            yield from (each.asname or each.name for each in imported.names)


def _is_said(project: Project, files: Container[str]) -> bool:
    """Whether the name of the file is said: beside code, or in code but of some `files`, and not for another one."""
    stem = PurePath(project.path).stem
    said, beside = project.saying((stem,)), project.saying((stem,), beside_code=True)
    if said is None or beside is None or len(said) > _MOST_SAYING or len(beside) > _MOST_SAYING:
        return True
    with_folder = _with_folder(project) if _is_folder_too(project) else None
    for path in beside:
        text = None if with_folder is None else project.text_of(path)
        if text is None or with_folder is None or with_folder.search(text.text):
            return True
    return any(_may_mean_it(project, path, stem, with_folder) for path in said if path not in files)


def _is_folder_too(project: Project) -> bool:
    """Whether a folder of the project has the name of the file, so that who says it means that one."""
    stem = PurePath(project.path).stem
    return any(stem in PurePath(from_root(each)).parts[:-1] for each in (project.path, *(project.saying(()) or ())))


def _with_folder(project: Project) -> re.Pattern[str]:
    """How the file is written, where a folder is called like it: with its own folder, or as one."""
    path = PurePath(project.path)
    stem = re.escape(path.stem)
    return re.compile(rf"\b{re.escape(path.parent.name)}[./\\]{stem}\b|\b{stem}\.py\b")


def _may_mean_it(project: Project, path: str, stem: str, with_folder: re.Pattern[str] | None) -> bool:
    """Whether a file says a name in a text that may lead to the file, or imports what may be the file.

    Where nothing loads modules by texts, one leads there that is its path, or a part of one, or in what a package hands
    on as ``__all__``: what else is called so is not the file.
    """
    module = project.module(path)
    if module is None:
        return True
    texts = [each.value for each in nodes_in(module.tree, ast.Constant) if stem in names_of(each)]
    if with_folder is not None:
        texts = [each for each in texts if with_folder.search(str(each))]
    are_loaded = bool(texts) and (PurePath(path).stem == "__init__" or _loads_by_texts(project))
    in_path = re.compile(rf"\w[./\\]{re.escape(stem)}\b|\b{re.escape(stem)}\.py\b")
    if any(are_loaded or in_path.search(str(each)) for each in texts):
        return True
    imported = [(each.name, 0) for node in nodes_in(module.tree, ast.Import) for each in node.names]
    for node in nodes_in(module.tree, ast.ImportFrom):
        imported += [(f"{node.module or ''}.{each.name}".strip("."), node.level) for each in node.names]
        imported.append((node.module or "", node.level))
    naming = (each for each in imported if each[0].rpartition(".")[2] == stem)
    return any(project.locate(path, *each) in (None, project.path) for each in naming)


def has_another_version(tree: ast.Module, project: Project, fewest: int = _CLASSES_OF_A_VERSION) -> bool:
    """Whether a file that is imported defines all classes that this one does, of which there are enough."""
    names = tuple(each.name for each in tree.body if isinstance(each, ast.ClassDef))
    if len(names) < fewest:
        return False
    defined = [re.compile(rf"^class {name}\b", re.MULTILINE) for name in names]
    for path in (project.saying(names) or ())[:_MOST_SAYING]:
        text = project.text_of(path) if path.endswith(".py") else None
        if text is not None and all(each.search(text.text) for each in defined) and project.importers(path):
            return True
    return False
