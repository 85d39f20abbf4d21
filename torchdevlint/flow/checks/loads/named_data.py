"""What the code around a load calls it: tables, graphs and logs are data, which is prepared on the CPU.

In judged draws of research code nobody would have acted on 36 of 38 loads that are called data and that no code uses as
models. So they are advice in applications, unless the project writes such a file out of what it moves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.loaded_data import may_be_elsewhere
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, public_path, whole_of
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import arguments_of, assignments_in, inside, nodes_in, once_a_node, parts_of_sequence

_WORD = regex(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_OF_DATA = frozenset(
    """
    corpus cost data dataset dict edge graph history item label list location log loss meta metadata metric pair
    point popular query record result row sample sentence split stat statistic stats table target text token
    trajectory user vocab vocabulary
    """.split()
)
_OF_DATASETS = frozenset("corpus dataset vocab vocabulary".split())
"""Words of names for what nobody trains, whatever the file is called after."""
_OF_VOCABULARIES = frozenset("vocab vocabulary".split())
_OF_MODELS = frozenset(
    """
    actor agent backbone best bert checkpoint chkpt ckp ckpt classifier critic decoder discriminator encoder epoch
    extractor gan generator gpt learner model module net network optim optimizer param parameter policy predictor
    pretrain pretrained resnet restore resume snapshot state student teacher trained unet vae vgg weight
    """.split()
)
"""Words for what was trained, or was made by what was: it was where that was."""
_OF_OPTIONS = frozenset("arg config hparam opt option setting".split())
_AS_MODELS = frozenset("load_state_dict eval train parameters named_parameters modules state_dict cpu keys".split())
"""Methods of models, of state dicts, and of tensors that may be elsewhere."""
_READERS = frozenset("torch numpy pickle json joblib yaml".split())
_TAKES_MODELS = _OF_MODELS | {"load"}


def is_called_data(scope: ast.AST, owner: ast.AST | None, load: ast.Call, name: str | None) -> bool:
    """Whether names say that a load in a function gives data, and nothing in it, or its class, uses that as a model.

    `name` is what is known of the name of the file. What the function keeps to itself need not be called data: it is
    enough that no name says otherwise, nor that of the function.
    """
    targets = _bound_to(scope).get(id(load), [])
    if targets and _has_options_alone(scope, targets):
        return True
    called = {word for each in targets for word in _words(each)}
    words = called.union(word for each in (*_said_in(load), name or "") for word in _words(each))
    if not (words if called.isdisjoint(_OF_DATASETS) else called).isdisjoint(_OF_MODELS):
        return False
    is_said = not words.isdisjoint(_OF_DATA) or not called.isdisjoint(_OF_OPTIONS)
    if not is_said and not (targets and _is_kept(scope, targets)):
        return False
    around = owner if owner is not None and any("." in each for each in targets) else scope
    nodes, paths = _used_as_models(around)
    return id(load) not in nodes and paths.isdisjoint(targets)


def is_called_vocabulary(scope: ast.AST, owner: ast.AST | None, load: ast.Call) -> bool:
    """Whether a load is bound to what is called a vocabulary alone: texts and their numbers, in which is no tensor."""
    targets = _bound_to(scope).get(id(load), [])
    words = [list(_words(each.rpartition(".")[2])) for each in targets]
    if not words or any(_OF_VOCABULARIES.isdisjoint(each[-2:]) or not _OF_MODELS.isdisjoint(each) for each in words):
        return False
    if any(not _OF_MODELS.isdisjoint(_words(each)) for each in _said_in(load)):
        return False
    nodes, paths = _used_as_models(owner or scope)
    return id(load) not in nodes and paths.isdisjoint(targets)


def _has_options_alone(scope: ast.AST, targets: list[str]) -> bool:
    """Whether a function only takes options and data out of what it loads: ``saved["training_args"]``."""
    keys = [each for path in targets for each in _taken_from(scope).get(path, ())]
    words = [frozenset(_words(each)) for each in keys if each is not None]
    return (
        len(words) == len(keys) > 0
        and any(not _OF_OPTIONS.isdisjoint(each) for each in words)
        and all(_OF_MODELS.isdisjoint(each) and not (_OF_OPTIONS | _OF_DATA).isdisjoint(each) for each in words)
    )


@once_a_node
def _taken_from(scope: ast.AST) -> dict[str, list[str | None]]:
    """The keys by which each name or attribute is asked for a part; None for what else it is read for."""
    found: dict[str, list[str | None]] = {}
    keys = {id(each.value): each.slice for each in nodes_in(scope, ast.Subscript)}
    read: list[ast.Name | ast.Attribute] = [*nodes_in(scope, ast.Name), *nodes_in(scope, ast.Attribute)]
    for each in read:
        path = dotted_path(each) if isinstance(each.ctx, ast.Load) else None
        if path is not None:
            key = keys.get(id(each))
            text = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None
            found.setdefault(path, []).append(text)
    return found


def _is_kept(scope: ast.AST, targets: list[str]) -> bool:
    """Whether a function, which is not called after models, binds something to names that it does not give back."""
    if not _OF_MODELS.isdisjoint(_words(getattr(scope, "name", ""))):
        return False
    given = [*nodes_in(scope, ast.Return), *nodes_in(scope, ast.Yield)]
    return all(dotted_path(part) not in targets for each in given for part in inside(each))


@once_a_node
def _bound_to(scope: ast.AST) -> dict[int, list[str]]:
    """The names and attributes that a call is bound to, alone or as a part, by the identity of its node.

    So it is to each name that it is unpacked to, and to a list that is extended by it.
    """
    found: dict[int, list[str]] = {}
    for target, value in _bound_in(scope):
        path = dotted_path(target)
        for part in () if path is None else inside(value):
            if isinstance(part, ast.Call) and path is not None:
                found.setdefault(id(part), []).append(path)
    return found


def _bound_in(scope: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    for each in assignments_in(scope):
        for target in each.targets:
            unpacked = parts_of_sequence(target)
            yield from ((one, each.value) for one in unpacked)
    yield from ((each.target, each.value) for each in nodes_in(scope, ast.AugAssign))
    for call in nodes_in(scope, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == "extend":
            yield from ((call.func.value, each) for each in call.args)


def is_moved(scope: ast.AST, saved: ast.expr) -> bool:
    """Whether what is saved, or what a name in it is bound to in the function, is moved there, or holds weights."""
    bound = values_by_path(scope)
    names = {path for part in inside(saved) if (path := dotted_path(part)) is not None}
    parts = [saved, *(value for name in sorted(names) for value in bound.get(name, ()))]
    return any(may_be_elsewhere(scope, each) for each in parts)


def _said_in(load: ast.Call) -> Iterator[str]:
    """The names and texts that say which file is read."""
    for each in load.args[:1]:
        for part in inside(each):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
            elif isinstance(part, (ast.Name, ast.Attribute)):
                yield last_name(part)


def _words(text: str) -> Iterator[str]:
    for each in _WORD.finditer(text):
        word = each.group().lower()
        yield word
        yield word.removesuffix("s")


@once_a_node
def _used_as_models(around: ast.AST) -> tuple[frozenset[int], frozenset[str | None]]:
    """What is called, asked, or given away as models and their states are: the nodes, and the names and attributes."""
    found: list[ast.expr] = []
    for call in nodes_in(around, ast.Call):
        function = call.func
        found.append(function)
        if isinstance(function, ast.Attribute) and function.attr in _AS_MODELS:
            found.append(function.value)
        if _takes_models(function):
            found += arguments_of(call)
    for part in nodes_in(around, ast.Subscript):
        key = part.slice.value if isinstance(part.slice, ast.Constant) else None
        if isinstance(key, str) and not _OF_MODELS.isdisjoint(_words(key)):
            found.append(part.value)
    used = [whole_of(each) for each in found]
    return frozenset(map(id, used)), frozenset(map(dotted_path, used))


def _takes_models(function: ast.expr) -> bool:
    """Whether a function is called as what takes a model, or loads what it is given; not that of a vocabulary."""
    if _TAKES_MODELS.isdisjoint(_words(last_name(function))):
        return False
    owner = list(_words(last_name(function.value))) if isinstance(function, ast.Attribute) else []
    is_of_data = not _OF_DATASETS.isdisjoint(owner) and _OF_MODELS.isdisjoint(owner)
    return not is_of_data and first_name(public_path(function)) not in _READERS
