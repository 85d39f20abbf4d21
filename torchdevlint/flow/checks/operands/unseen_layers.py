"""Layers of classes that are not known here: `forward` gives one what it makes on the default device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import LayerCalled
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.scope.annotations import annotation_name, without_none
from torchdevlint.flow.scope.bookkeeping import is_quantity
from torchdevlint.flow.scope.looped_layers import lists_gone_through
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import DEFAULT, MODEL, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.others import OtherFiles, resolved
from torchdevlint.flow.state.values import AT_LEAST_1, Cls, Obj, Ref, Step, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in

FILLED = frozenset("torch." + name for name in "zeros ones full rand randn eye linspace empty arange randint".split())
"""Factories of values that are not data: lengths and other facts about a batch are made of data, and may stay."""
_INDICES = FILLED | {f"torch.{name}" for name in torch_api.DATA_FACTORIES | {"LongTensor", "IntTensor"}}
"""What an embedding is given, which has its table where the model is, are indices, of data as well."""
_GENERATES = regex(r"^(?:sample|generate|infer|inference|predict|translate|decode)(?:_|$)")
"""Methods that are for a model which is trained, and has its place; others may try layers when the model is built."""
_EMBEDDING = regex(r"(?:[._]|^)emb(?:ed(?:ding|der)?s?)?$")
_LAYER = regex(r"_?(?:[A-Z][a-z0-9]+)*[A-Z]\w*")
_NO_LAYER = regex(r"Sampler|Tokenizer|Process|Dataset|Metric|Loss|Config|Transform|Scheduler|Collat|Builder|Factory")


def _note_layer(event: LayerCalled) -> None:
    """``self.layer(torch.zeros(..))`` in `forward`, where ``self.layer`` surely is a Module of another class."""
    frame, state, node, operands = event.frame, event.state, event.node, event.operands
    layer = event.layer
    if isinstance(layer, ast.Name):
        _note_item(event)
        return
    owner = event.owner if event.owner is not None else _holder(event)
    if owner is None or owner.device != MODEL or not _runs_model(event):
        return
    path = dotted_path(layer) or ""
    embeds = len(operands) == len(node.args) == 1 and _EMBEDDING.search(path) is not None
    keywords = {id(each.value): each.arg for each in node.keywords}
    factories = _INDICES if embeds else FILLED
    made = [each for each in operands if is_filled_here(*each, factories, keywords.get(id(each[0])))]
    if not made or not path.startswith("self.") or is_quantity(path):
        return
    name = path.removeprefix("self.")
    place = (
        (_made_at(owner.info, frame.machine.others, name) or (_given_at(owner.info, name) if embeds else None))
        if made
        else None
    )
    if place is not None:
        kept = Step(f"`{path}` is a layer, which moves with the model", place, of_module=True)
        where = Tensor(MODEL, AT_LEAST_1, (), (kept,))
        combine(frame, state, node, f"`{frame.machine.text_of(node.func)}()`", [(layer, where), *made], True)


def _note_item(event: LayerCalled) -> None:
    """``for flow in self.flows: z = flow(z, x)``: each is an item of a `ModuleList`, which moves with the model.

    One of several may be without parameters, and works anywhere; but not on two things that are apart.
    """
    frame, state, owner = event.frame, event.state, event.frame.owner
    function = frame.function
    made = [each for each in event.operands if is_filled_here(*each)]
    if not made or owner is None or not owner.is_module or not isinstance(function, ast.FunctionDef):
        return
    if not any(_is_input(value) for _, value in event.operands):
        return
    paths = sorted(lists_gone_through(function, dotted_path(event.layer) or "")) if _runs_model(event) else []
    names = [each.removeprefix("self.") for each in paths]
    found = [[value for method in _writers(owner, each) for _, value in _assigned(method, each)] for each in names]
    if found and all(map(_are_lists, found)):
        kept = Step(f"`{paths[0]}` holds layers, which move with the model", found[0][0], of_module=True)
        where = Tensor(MODEL, AT_LEAST_1, (), (kept,))
        called = f"`{frame.machine.text_of(event.node.func)}()`"
        combine(frame, state, event.node, called, [(event.layer, where), *made], True)


def _are_lists(values: list[ast.expr]) -> bool:
    return bool(values) and all(isinstance(each, ast.Call) and public_path(each.func) == _LIST for each in values)


def _is_input(value: Value) -> bool:
    """Whether it is where the model or an argument is."""
    place = value.device if isinstance(value, Tensor) else value.given if isinstance(value, Unknown) else None
    return place is not None and place.origin in (Origin.MODEL, Origin.ARGUMENT)


_LIST = "torch.nn.ModuleList"


def _holder(event: LayerCalled) -> Obj | None:
    """The Module that keeps a layer which it was given, by the annotation of an argument."""
    if not isinstance(event.layer, ast.Attribute) or not event.operands:
        return None
    held = event.frame.evaluate(event.layer.value, event.state)
    return held if isinstance(held, Obj) and held.info.is_module else None


def _runs_model(event: LayerCalled) -> bool:
    """Whether it is in `forward`, or in a method that generates with the model."""
    frame = event.frame
    generates = _GENERATES.search(getattr(frame.function, "name", "")) is not None
    return frame.context == "forward" or (frame.context == "method" and generates)


def is_filled_here(
    node: ast.expr, value: Value, factories: frozenset[str] = FILLED, called: str | None = None, sized: bool = True
) -> bool:
    """Whether each thing that it may be is a tensor, and `factories` have made one on the default device.

    What is `called` a quantity, by its own name or that of the parameter that it is for, may stay on the CPU; so may
    one number over and over, if it may be the lengths of what is given beside it (`sized`).
    """
    held = [each for _, each in alternatives(value)]
    made = [each for each in held if isinstance(each, Tensor) and each.device == DEFAULT and each.creations]
    return (
        bool(made)
        and all(isinstance(each, (Tensor, Unknown)) for each in held)
        and all(each.ndim != 0 and all(site.function in factories for site in each.creations) for each in made)
        and not (sized and any(each.ndim == 1 and _is_one_number(each) for each in made))
        and not is_quantity(dotted_path(node))
        and not is_quantity(called)
    )


def _is_one_number(value: Tensor) -> bool:
    return any(site.function == "torch.full" for site in value.creations)


def _made_at(info: ClassInfo, others: OtherFiles | None, name: str) -> ast.expr | None:
    """What an attribute is first given, if every place gives it an object of a class of another file, or a Module."""
    found = [each for method in _writers(info, name) for each in _assigned(method, name)]
    return found[0][1] if found and all(_is_of_module_class(info, others, *each) for each in found) else None


def _given_at(info: ClassInfo, name: str) -> ast.expr | None:
    """What an attribute is given, if that is an argument of the constructor of which nothing else is said."""
    found = [each for method in _writers(info, name) for each in _assigned(method, name)]
    given = [value for method, value in found if isinstance(value, ast.Name) and _is_open(method, value.id)]
    return given[0] if given and len(given) == len(found) else None


def _is_open(method: ast.FunctionDef, name: str) -> bool:
    """Whether a name is a parameter without annotation or default of a constructor, which binds it to nothing else."""
    spec, rest = method.args, len(method.args.defaults)
    plain = spec.args[: len(spec.args) - rest]
    return method.name == "__init__" and any(each.arg == name and each.annotation is None for each in plain)


def _writers(info: ClassInfo, name: str) -> Iterator[ast.FunctionDef]:
    for each in info.mro:
        for method in each.writers.get(name, ()):
            if isinstance(method, ast.FunctionDef):
                yield method


def _assigned(method: ast.FunctionDef, name: str) -> Iterator[tuple[ast.FunctionDef, ast.expr]]:
    for each in assignments_in(method):
        if any(dotted_path(target) == f"self.{name}" for target in each.targets):
            yield method, each.value


def _is_of_module_class(info: ClassInfo, others: OtherFiles | None, method: ast.FunctionDef, value: ast.expr) -> bool:
    if isinstance(value, ast.Name):
        spec = method.args
        annotated = {each.arg: each.annotation for each in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}
        return _names_module(info, annotated.get(value.id), others)
    if not isinstance(value, ast.Call):
        return False
    tail = (dotted_path(value.func) or "").rpartition(".")[2]
    return bool(_LAYER.fullmatch(tail)) and not tail.isupper() and not _NO_LAYER.search(tail)


def _names_module(info: ClassInfo, annotation: ast.expr | None, others: OtherFiles | None) -> bool:
    """Whether an annotation names `torch.nn.Module` or a Module class of the project, with None or without."""
    annotation = without_none(annotation)
    name = annotation_name(annotation)
    for scope in info.closure.scopes if name else ():
        found = resolved(scope.get(name), others)
        if isinstance(found, Cls):
            return found.info.is_module
        if isinstance(found, Ref):
            return False
    return isinstance(annotation, ast.Attribute) and annotation.attr == "Module"


EVENTS = {LayerCalled: _note_layer}
