"""The input pipeline: the functions that run in loaders, where tensors are on the CPU."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.scope.names import dotted_path, last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import nodes_in

GIVEN_AS_TRANSFORM = frozenset({"transform", "transforms", "target_transform"})
"""Arguments of data sets that are called with each item."""
_GIVEN_AS = frozenset({"collate_fn", "worker_init_fn"}) | GIVEN_AS_TRANSFORM
_FUNCTIONS = regex(r"(?:^|_)collate(?:$|_)")
_CLASSES = regex(r"Collat(?:e|or|er|ion)|Dataset$|DataSet$|Tokenizer|FeatureExtractor")
_BASES = regex(r"Dataset$|Collator$|Tokenizer")
_SAMPLERS = regex(r"Sampler$")
_OF_LOADERS = regex(r"data|loader", re.IGNORECASE)
_TRANSFORMS = regex(r"Transforms?$")
_OF_BATCHES = frozenset({"kornia", "monai", "torch_geometric", "torchvision", "torchaudio", "torchrl"})
"""Libraries whose transforms are used on batches of an accelerator as well."""
_OF_DISTRIBUTIONS = frozenset({"torch", "pyro", "nflows", "normflows", "zuko"})
"""Those whose transforms are of distributions, and work on what a model gives: `torch.distributions.Transform`."""
_WORDS = regex(r"[Cc]ollat|DataLoader|[Dd]ata[Ss]et|Sampler|[Tt]ransform|Tokenizer|FeatureExtractor")

_ADDS = frozenset({"append", "insert"})

_Place = tuple[str, str]
"""The class that a function belongs to, or an empty string, and its name."""


def concerns(words: frozenset[str]) -> bool:
    """Whether a file with these words can have functions of the input pipeline."""
    return _WORDS.search("\n".join(words)) is not None


def functions_in(tree: ast.Module) -> frozenset[ast.AST]:
    """The functions and methods of a file that loaders call, and those that these call in turn.

    They are collate functions and what is given as one, methods of data sets, samplers and collators, and transforms
    that are given to a data set, or listed where lists are composed. What is defined in one of them is one as well.
    """
    known = dict(_functions(tree))
    found: set[_Place] = set()
    level = set(_starts(tree, known))
    while level:
        found |= level
        level = {each for place in level for each in _called(known[place], place[0])} & known.keys() - found
    functions = {known[place] for place in found}.union(_given_inside(tree))
    return frozenset({*functions, *(inner for each in functions for inner in nodes_in(each, ast.FunctionDef))})


def _given_inside(tree: ast.Module) -> Iterator[FunctionNode]:
    """The functions that another function defines, and gives to a loader."""
    for around in nodes_in(tree, ast.FunctionDef):
        given = _given_in(around)
        if given:
            yield from (each for each in around.body if isinstance(each, FunctionNode) and each.name in given)


def _functions(tree: ast.Module) -> Iterator[tuple[_Place, FunctionNode]]:
    for statement in tree.body:
        if isinstance(statement, FunctionNode):
            yield ("", statement.name), statement
        elif isinstance(statement, ast.ClassDef):
            for inner in statement.body:
                if isinstance(inner, FunctionNode):
                    yield (statement.name, inner.name), inner


def _starts(tree: ast.Module, known: dict[_Place, FunctionNode]) -> Iterator[_Place]:
    classes = {each.name for each in nodes_in(tree, ast.ClassDef) if _feeds(tree, each) or _transforms(tree, each)}
    classes.update(_listed(tree))
    given = _given_in(tree)
    for owner, name in known:
        if name != "forward" and (owner in classes or name in given or _FUNCTIONS.search(name)):
            yield owner, name


def _given_in(node: ast.AST) -> frozenset[str]:
    """The last names of what is given to loaders and data sets to be called with each item or batch."""
    keywords = (each for call in nodes_in(node, ast.Call) for each in call.keywords if each.arg in _GIVEN_AS)
    return frozenset((dotted_path(each.value) or "").rpartition(".")[2] for each in keywords)


def _feeds(tree: ast.Module, node: ast.ClassDef) -> bool:
    """Whether a class is a data set, a sampler or a collator, by its name or its bases; a layer is none."""
    if _is_layer(node):
        return False
    bases = ((dotted_path(base) or "").rpartition(".")[2] for base in node.bases)
    return bool(_CLASSES.search(node.name)) or any(_BASES.search(base) for base in bases) or _orders(tree, node)


def _orders(tree: ast.Module, node: ast.ClassDef, hops: int = 4) -> bool:
    """Whether a class is a sampler of a loader, which goes through numbers; one of images or actions is none.

    It is gone through itself, or derived from one that is: one of this file, or one from where loaders are.
    """
    names = [node.name, *map(last_name, node.bases)]
    if not any(map(_SAMPLERS.search, names)):
        return False
    if any(getattr(each, "name", "") == "__iter__" for each in node.body):
        return True
    if any(_SAMPLERS.search(last_name(each)) and _OF_LOADERS.search(public_path(each)) for each in node.bases):
        return True
    above = (each for each in nodes_in(tree, ast.ClassDef) if each.name in names and each is not node)
    return hops > 0 and any(_orders(tree, each, hops - 1) for each in above)


def _transforms(tree: ast.Module, node: ast.ClassDef) -> bool:
    """Whether a class that is no Module is derived from what the project calls a transform.

    Where a layer of the file is derived from what the same module gives, these are transforms as layers make them.
    """
    homes = {
        name.asname or name.name: each.module or "" for each in nodes_in(tree, ast.ImportFrom) for name in each.names
    }
    of_layers = {
        homes.get(last_name(base)) for each in nodes_in(tree, ast.ClassDef) if _is_layer(each) for base in each.bases
    } - {None}
    theirs = {name for name, home in homes.items() if home in of_layers or _is_of_models(home)}
    bases = {last_name(base) for base in node.bases}
    if _is_module(tree, node) or any(each in theirs for each in bases):
        return False
    if any(_is_of_models(public_path(base)) for base in node.bases):
        return False
    return any(map(_TRANSFORMS.search, bases))


def _is_of_models(path: str) -> bool:
    """Whether a module or class is of a library whose transforms are run where a model is."""
    return path.partition(".")[0] in _OF_BATCHES | _OF_DISTRIBUTIONS


def _is_module(tree: ast.Module, node: ast.ClassDef, hops: int = 4) -> bool:
    """Whether a class runs as a layer, keeps buffers or parameters, or is derived from what does in its file."""
    if _is_layer(node) or any(last_name(each.func) in _OF_MODULES for each in nodes_in(node, ast.Call)):
        return True
    bases = {last_name(base) for base in node.bases}
    above = (each for each in nodes_in(tree, ast.ClassDef) if each.name in bases and each is not node)
    return "Module" in bases or (hops > 0 and any(_is_module(tree, each, hops - 1) for each in above))


_OF_MODULES = frozenset({"register_buffer", "register_parameter", "Parameter", "Buffer"})


def _is_layer(node: ast.ClassDef) -> bool:
    return any(getattr(each, "name", "") == "forward" for each in node.body)


def _listed(tree: ast.Module) -> Iterator[str]:
    """The classes that can be called, and of which each instance is an element of a list, where lists are composed."""
    says = {each.attr for each in nodes_in(tree, ast.Attribute)} | {each.id for each in nodes_in(tree, ast.Name)}
    if not any(each.endswith("Compose") for each in says):
        return
    elements = {id(each) for listed in nodes_in(tree, ast.List) for each in listed.elts}
    appended = [call for call in nodes_in(tree, ast.Call) if isinstance(call.func, ast.Attribute)]
    elements |= {id(each) for call in appended if call.func.attr in _ADDS for each in call.args}  # type: ignore[attr-defined]
    for node in nodes_in(tree, ast.ClassDef):
        plain = all(dotted_path(base) == "object" for base in node.bases)
        if plain and any(getattr(each, "name", "") == "__call__" for each in node.body):
            made = [call for call in nodes_in(tree, ast.Call) if dotted_path(call.func) == node.name]
            if made and all(id(call) in elements for call in made):
                yield node.name


def _called(function: FunctionNode, owner: str) -> Iterator[_Place]:
    for call in nodes_in(function, ast.Call):
        if isinstance(call.func, ast.Name):
            yield "", call.func.id
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            yield owner if call.func.value.id == "self" else call.func.value.id, call.func.attr
