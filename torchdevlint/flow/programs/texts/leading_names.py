"""Names through which one comes to a place: those of the functions around it, and of what reads these."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchdevlint.flow.scope.names import dotted_path, first_name, parameter_names, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile, bound_by
from torchdevlint.source.nodes import is_below, nodes_in, once_a_node

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
CALLED_BY_TORCH = frozenset({"forward", "training_step", "validation_step", "test_step", "configure_optimizers"})
LIGHTNING = frozenset(
    f"{package}.{name}"
    for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
    for name in ("LightningModule", "LightningDataModule")
)
"""Bases of which a trainer calls the hooks."""
OF_LIGHTNING = regex(
    r"(?:on|configure|training|validation|test|predict|train|val|optimizer|lr_scheduler|transfer|tbptt|tng|get|log|manual"
    r"|toggle|toggled|untoggle|to|add|from|load|save|init|amp)_\w*|\w*_dataloader|\w*(?:freeze|gradients|gather|overridden)"
    r"|optimizers|lr_schedulers|setup|teardown|prepare_data|backward|print|summarize|log|state_dict|load_state_dict|state_key|\w*_hook"
)
"""Methods that Lightning calls, or has."""
_READERS = frozenset("torch torch.jit numpy pickle json yaml joblib jsonlib os os.path".split())
"""What is never called in place of a function of the project that has the same name."""


def names_on_the_way(files: Iterable[ModuleFile], place: ast.AST) -> frozenset[str]:
    """The names of the functions of some files through which one comes to a place, methods by their own.

    A constructor, and what is called by an operator or by PyTorch, goes by its class. ``net.train()`` and ``self.main``
    are no functions of the top level.
    """
    trees = [each.tree for each in files]
    named = [each for tree in trees for each in _named(tree)]
    methods = frozenset[str]().union(*map(_methods, trees))
    names = {name for name, node, _, _ in named if is_below(place, node)}
    before = 0
    while len(names) > before:
        before = len(names)
        functions = names - methods
        names.update([name for name, _, read, of_objects in named if (read - (functions & of_objects)) & names])
    return frozenset(names)


@once_a_node
def read_by(node: ast.AST) -> frozenset[str]:
    """The names that are read in some code, the attributes of what it does not know, and what it imports from files."""
    names = _read_as_names(node)
    names.update(each.attr for each in nodes_in(node, ast.Attribute) if not is_of_a_reader(each))
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        names.update(each.name for each in node.names)
    if isinstance(node, ast.alias):
        names.add(node.name)
    return frozenset(names)


def _read_of_objects(node: ast.AST, modules: frozenset[str]) -> frozenset[str]:
    """The names that code reads as attributes of what is none of the `modules`, and not otherwise."""
    attributes = nodes_in(node, ast.Attribute)
    of_modules = {each.attr for each in attributes if first_name(dotted_path(each.value) or "") in modules}
    return frozenset({each.attr for each in attributes} - of_modules - _read_as_names(node))


def _imported(tree: ast.Module) -> frozenset[str]:
    """The names that imports bind anywhere in a file."""
    return frozenset(each.asname or each.name.partition(".")[0] for each in nodes_in(tree, ast.alias))


def _read_as_names(node: ast.AST) -> set[str]:
    """The names that are read by themselves, those of parameters excepted."""
    names = {each.id for each in nodes_in(node, ast.Name) if isinstance(each.ctx, ast.Load)}
    return names - parameter_names(node) if isinstance(node, _FUNCTIONS) else names


@once_a_node
def _methods(tree: ast.Module) -> frozenset[str]:
    """The names of the methods of all classes of a file."""
    bodies = (owner.body for owner in nodes_in(tree, ast.ClassDef))
    return frozenset(each.name for body in bodies for each in body if isinstance(each, _FUNCTIONS))


def is_of_a_reader(node: ast.Attribute) -> bool:
    """Whether an attribute is one of a library whose functions share names with many of projects."""
    return public_path(node.value) in _READERS


@once_a_node
def _named(tree: ast.Module) -> list[tuple[str, ast.AST, frozenset[str], frozenset[str]]]:
    """What a name of a file leads to, what that reads (`read_by`), and what of it of objects alone."""
    modules = _imported(tree)
    return [(name, node, read_by(node), _read_of_objects(node, modules)) for name, node in _led_to(tree)]


def _led_to(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions and methods of a file, and what else its top level binds, each with the name that leads there."""
    for each in tree.body:
        if isinstance(each, ast.ClassDef):
            for inner in each.body:
                method = inner.name if isinstance(inner, _FUNCTIONS) else ""
                own = method and not method.startswith("__") and method not in CALLED_BY_TORCH
                yield (method if own else each.name), inner
        elif isinstance(each, (ast.Import, ast.ImportFrom)):
            yield from ((name.asname or name.name.partition(".")[0], name) for name in each.names)
        elif isinstance(each, (*_FUNCTIONS, ast.Assign, ast.AnnAssign)):
            yield from ((name, each) for name in bound_by(each))


def leads(statement: ast.stmt, names: frozenset[str], place: ast.AST | None) -> bool:
    """Whether a statement holds the place, or names what leads to it; what it only defines or imports is not run."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return False
    return not names.isdisjoint(read_by(statement)) or (place is not None and is_below(place, statement))
