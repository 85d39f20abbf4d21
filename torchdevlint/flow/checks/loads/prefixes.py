"""Who takes the prefix of a wrapper off the keys of a state dict, here or where the project reads it."""

from __future__ import annotations

import ast
from pathlib import Path

from torchdevlint.flow.checks.loads.wrapped_readers import is_read_by_wrapped
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.flow.state.machine import Machine
from torchdevlint.project.modules import ModuleFile
from torchdevlint.source.nodes import assignment_of, inside, nodes_in, once_a_node

_PREFIXES = ("module.", "_orig_mod.")
_LENGTHS = frozenset(map(len, _PREFIXES))
_WORDS = frozenset({"consume_prefix_in_state_dict_if_present", "_orig_mod", *_PREFIXES})
_MOST_FILES = 40
"""With more files of the project that read checkpoints, none is looked into."""


@once_a_node
def strips(tree: ast.Module) -> bool:
    """Whether a file takes prefixes off keys: it names one, or drops as many characters, as in ``key[7:]``."""
    said = {each.value for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str)}
    said.update(each.id for each in nodes_in(tree, ast.Name))
    said.update(each.attr for each in nodes_in(tree, ast.Attribute))
    said.update(each.name.rpartition(".")[2] for each in nodes_in(tree, ast.alias))
    if said & _WORDS or any(map(_asks_for_prefix, nodes_in(tree, ast.Call))):
        return True
    of_names = (each.slice for each in nodes_in(tree, ast.Subscript) if isinstance(each.value, ast.Name))
    slices = (each for each in of_names if isinstance(each, ast.Slice) and each.upper is None)
    return any(isinstance(each.lower, ast.Constant) and each.lower.value in _LENGTHS for each in slices)


def _asks_for_prefix(call: ast.Call) -> bool:
    """``key.startswith("module")``."""
    given = [each.value for each in call.args if isinstance(each, ast.Constant)]
    return last_name(call.func) in ("startswith", "removeprefix") and "module" in given


def is_read_without_prefix(machine: Machine, own: ModuleFile, save: ast.Call) -> bool:
    """Whether another file that fills a model from a file takes prefixes off the keys, in a folder around or below.

    Others that do not are taken to read other files, such as weights to begin with. Where each of them wraps its model
    in any case, or those do that read a file of the name which is saved, the keys have to be as they are.
    """
    project = machine.others.project if machine.others is not None else None
    paths = None if project is None else project.saying(("load_state_dict", "torch.load"))
    if project is None or not paths or len(paths) > _MOST_FILES:
        return False
    paths = tuple(path for path in paths if _are_near(path, project.path))
    modules = [project.library.get(path) for path in paths]
    for path, module in zip(paths, modules, strict=True):
        project.used(path, "", module)
    readers = [each for each in modules if each is not None and _fills_from_file(each.tree)]
    trees = [each.tree for each in readers]
    if any(map(strips, trees)) or (bool(trees) and all(map(_wraps_all, trees))):
        return True
    return is_read_by_wrapped(own, save, readers, project)


@once_a_node
def _wraps_all(tree: ast.Module) -> bool:
    """Whether a file wraps a model in any case: ``net = nn.DataParallel(net)`` at the top level."""
    made = (each.value for each in map(assignment_of, tree.body) if each is not None)
    calls = (inner for each in made for inner in inside(each) if isinstance(inner, ast.Call))
    return any(last_name(each.func) == "DataParallel" for each in calls)


def _are_near(path: str, other: str) -> bool:
    """Whether the folder of one file is that of the other, or around it."""
    return Path(path).parent in Path(other).parents or Path(other).parent in Path(path).parents


@once_a_node
def _fills_from_file(tree: ast.Module) -> bool:
    """Whether a file reads another one by `torch.load`, and gives a state dict to something."""
    called = {public_path(each.func) for each in nodes_in(tree, ast.Call)}
    called.update(f".{last_name(each.func)}" for each in nodes_in(tree, ast.Call))
    return "torch.load" in called and ".load_state_dict" in called
