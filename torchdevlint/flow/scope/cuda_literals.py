"""Calls that raise on a machine without CUDA, as their text says: `x.cuda()`, `x.to(CFG.DEVICE)`, `set_device(rank)`.

A device is followed to the constant that it surely is: a name, an attribute of the same object, a class of constants,
be it imported from another file of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.bound_anew import overwritten
from torchdevlint.flow.scope.gpu_numbers import gpu_numbers
from torchdevlint.flow.scope.imported_names import defined
from torchdevlint.flow.scope.names import dotted_path, is_dtype, last_name, parameter_names, places_in, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node, own_assignments_in, own_nodes_in

_CUDA = regex(r"cuda(?::.*)?")
CPU = regex(r"cpu(?::\d+)?")
_MOST_HOPS = 5
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TOLD = frozenset("self cls args opt opts options cfg config conf params hparams torch".split())
"""What holds a device that somebody has chosen, and is no tensor."""
_WEIGHTS = frozenset({"weight", "bias"})
_ACCELERATORS = frozenset({"gpu", "cuda"})


class Text:
    """The text around a place: a function, or the top level, of one file, and the class that it is a method of."""

    def __init__(self, tree: ast.Module, function: ast.stmt | None = None, owner: ast.ClassDef | None = None) -> None:
        self.tree = tree
        self.function = function
        self.owner = owner

    @cached_property
    def around(self) -> tuple[ast.AST, ...]:
        """The scopes in which a name may be bound, the nearest first."""
        return tuple(each for each in (self.function, self.owner, self.tree) if each is not None)

    def elsewhere(self, path: str) -> tuple[Text, str] | None:
        """The file that a path of names leads to, and what is left of the path there; None, since no other is asked."""
        return None

    def within(self, function: ast.stmt) -> Text:
        """The text in a function of the top level of the same file."""
        return Text(self.tree, function)


class Scope(Text):
    """The same in a file of a project, whose other files are asked what they define."""

    def __init__(
        self, file: ModuleFile, project: Project, function: ast.stmt | None = None, owner: ast.ClassDef | None = None
    ) -> None:
        super().__init__(file.tree, function, owner)
        self.file = file
        self.project = project

    def within(self, function: ast.stmt) -> Text:
        return Scope(self.file, self.project, function)

    @property
    def body(self) -> list[ast.stmt]:
        return self.tree.body if self.function is None else self.function.body  # type: ignore[attr-defined]

    def elsewhere(self, path: str) -> tuple[Text, str] | None:
        led = defined(self.project, self.file.path, self.tree, path)
        return None if led is None or led[0] is self.file else (Scope(led[0], self.project), led[1])


def needs_cuda(scope: Scope, call: ast.Call) -> bool:
    """Whether a call raises on a machine without CUDA, whatever it is given."""
    function, path = call.func, public_path(call.func)
    if path.startswith("torch.cuda."):
        return path in torch_api.RAISES_WITHOUT_CUDA or path.endswith("Tensor")
    if isinstance(function, ast.Attribute) and function.attr == "cuda" and path != "torch.cuda":
        return True
    if any(is_cuda(scope, each) for each in places_in(call)) or _trains_on_gpu(scope, call):
        return True
    given = arguments_of(call)
    if path.endswith("init_process_group"):
        return any(isinstance(each, ast.Constant) and each.value == "nccl" for each in given)
    return path.endswith("set_default_tensor_type") and any(map(_is_tensor_type, given))


def asks_gpu(scope: Scope, call: ast.Call) -> bool:
    """Whether a GPU is asked for something, and not the device that was chosen, which may be the CPU."""
    given = arguments_of(call)
    if public_path(call.func) not in torch_api.RAISES_WITHOUT_CUDA:
        return False
    return not any(_may_be_cpu(scope, each) for each in given)


def describes_gpu(_: Scope, call: ast.Call) -> bool:
    """Whether it is asked what a GPU is called, can do or which one it is: no other device has an answer."""
    return public_path(call.func) in torch_api.DESCRIBES_GPU


def waits_for_gpu(scope: Scope, call: ast.Call) -> bool:
    """Whether a GPU is waited for, and not the device that was chosen: what is timed, or read after, was done there."""
    return public_path(call.func) == "torch.cuda.synchronize" and asks_gpu(scope, call)


def _may_be_cpu(scope: Scope, node: ast.expr) -> bool:
    """Whether what is given for a GPU speaks of the CPU, be it as -1, or is called a device and set elsewhere."""
    path = dotted_path(node)
    held = () if path is None else (values_by_path(each).get(path) for each in scope.around)
    values = next(filter(None, held), [node])
    parts = [part for value in values for part in inside(value)]
    return any(map(_is_called_device, values)) or any(
        isinstance(each, ast.UnaryOp) or (isinstance(each, ast.Constant) and each.value == "cpu") for each in parts
    )


def _is_called_device(node: ast.expr) -> bool:
    return "device" in (dotted_path(node) or "").rpartition(".")[2].lower()


def sets_current_gpu(scope: Scope, call: ast.Call) -> bool:
    """Whether a call says which GPU is the current one from there on."""
    return public_path(call.func) == "torch.cuda.set_device"


def names_cuda_alone(file: ModuleFile, project: Project) -> bool:
    """Whether a file sends things nowhere but to CUDA by name, to the host, and to where other tensors are."""
    functions = functions_in(file.tree)
    owners = {id(each): owner for owner in nodes_in(file.tree, ast.ClassDef) for each in owner.body}
    scopes = [Scope(file, project), *(Scope(file, project, each, owners.get(id(each))) for each in functions)]
    return all(
        is_cuda(scope, place) or is_settled(place)
        for scope in scopes
        for call in own_nodes_in(scope.function or file.tree, ast.Call)
        for place in places_in(call)
    )


def is_settled(place: ast.expr) -> bool:
    """``"cpu"``, a dtype, ``x.device`` of something that is at hand."""
    if isinstance(place, ast.Constant):
        return place.value in ("cpu", None)
    path = dotted_path(place) or ""
    owner, _, last = path.rpartition(".")
    follows = last == "device" and bool(owner) and owner.partition(".")[0] not in _TOLD
    return follows or is_dtype(place) or last == "dtype"


def is_of_tensor(place: str) -> bool:
    """Whether a place, as it is written, is that of something at hand: ``x.device``, which nobody has chosen there."""
    first, *rest = place.split(".")
    is_path = first.isidentifier() and all(map(str.isidentifier, rest))
    return is_path and rest[-1:] == ["device"] and first not in _TOLD


def is_of_object(place: str) -> bool:
    """The same, or of a weight (``self.conv.weight.device``), or of what a call gives."""
    owner, _, last = place.rpartition(".")
    is_owned = owner.endswith((")", "]")) or owner.rpartition(".")[2] in _WEIGHTS
    return is_of_tensor(place) or (last == "device" and is_owned)


def is_of_own_weight(place: str) -> bool:
    """Whether a place is that of a weight of the object itself: ``self.conv.weight.device``."""
    owner, _, last = place.rpartition(".")
    return last == "device" and place.startswith("self.") and owner.rpartition(".")[2] in _WEIGHTS


def _is_open(_: Text, test: ast.expr) -> bool | None:
    """How a test comes out where nothing is known of a program."""
    return bool(test.value) if isinstance(test, ast.Constant) else None


class Named(NamedTuple):
    """What a device has to be called, and what a program is known to do on its way there."""

    called: re.Pattern[str]
    outcome: Callable[[Text, ast.expr], bool | None] = _is_open
    """How a test comes out, where it is the same in each run."""
    never_run: Callable[[ast.expr], bool] = lambda _: False


_FOR_CUDA, _FOR_CPU = Named(_CUDA), Named(CPU)


def is_cuda(scope: Text, node: ast.expr) -> bool:
    """Whether an expression surely names CUDA: a text, a device made of one, a name that holds nothing else.

    So does the number of a GPU.
    """
    return is_named(scope, node, _FOR_CUDA) or dotted_path(node) in gpu_numbers(scope.tree)


def names_cpu(scope: Text, node: ast.expr) -> bool:
    """Whether an expression surely names the CPU, likewise."""
    return is_named(scope, node, _FOR_CPU)


def is_named(scope: Text, node: ast.expr, named: Named, hops: int = _MOST_HOPS) -> bool:
    if hops == 0:
        return False
    if isinstance(node, ast.IfExp):
        taken = named.outcome(scope, node.test)
        arms = [node.body, node.orelse] if taken is None else [node.body if taken else node.orelse]
        return all(is_named(scope, each, named, hops - 1) for each in arms)
    text = _beginning(node)
    if text is not None:
        return named.called.fullmatch(text) is not None
    if isinstance(node, ast.Call):
        called = dotted_path(node.func) or ""
        if called.endswith("device") and len(node.args) in (1, 2):
            return is_named(scope, node.args[0], named, hops - 1)
        return _gives(scope, called, named, hops)
    path = dotted_path(node)
    return path is not None and _holds(scope, path, named, hops)


def _holds(scope: Text, path: str, named: Named, hops: int) -> bool:
    if isinstance(scope.function, _FUNCTIONS) and path in parameter_names(scope.function):
        return False
    for each in scope.around:
        values = values_in_force(scope, each, path)
        if values:
            values = [value for value in values if not named.never_run(value)] or values
            return all(is_named(scope, value, named, hops - 1) for value in values)
    first, _, rest = path.partition(".")
    constants = _classes(scope.tree).get(first)
    if constants is not None:
        values = values_by_path(constants).get(rest, [])
        return bool(values) and all(is_named(scope, value, named, hops - 1) for value in values)
    led = scope.elsewhere(path)
    return led is not None and _holds(*led, named, hops - 1)


def values_in_force(scope: Text, around: ast.AST, path: str) -> list[ast.expr]:
    """What a scope around some text assigns to a path, but for values that it replaces before anything reads them."""
    own = around is scope.tree and path not in _bound_within(scope.tree)
    values = (_own_values(scope.tree) if own else values_by_path(around)).get(path, [])
    return [each for each in values if each not in overwritten(around)] if len(values) > 1 else values


def _gives(scope: Text, path: str, named: Named, hops: int) -> bool:
    """Whether a function of the project gives nothing but what is `named`: ``return f"cuda:{freest}"``."""
    function = _functions(scope.tree).get(path)
    if function is None:
        led = scope.elsewhere(path) if path else None
        return led is not None and _gives(*led, named, hops - 1) if hops else False
    inside = scope.within(function)
    returned = [each.value for each in own_nodes_in(function, ast.Return)]
    if None in returned:
        return False
    values = [each for each in returned if each is not None and not named.never_run(each)]
    return bool(values) and all(is_named(inside, each, named, hops - 1) for each in values)


@once_a_node
def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}


@once_a_node
def _own_values(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What the top level assigns to names and attributes."""
    found: dict[str, list[ast.expr]] = {}
    for node in own_assignments_in(tree):
        for path in filter(None, map(dotted_path, node.targets)):
            found.setdefault(path, []).append(node.value)
    return found


@once_a_node
def _bound_within(tree: ast.Module) -> frozenset[str]:
    """The names that functions bind at the top level."""
    return frozenset(name for each in nodes_in(tree, ast.Global) for name in each.names)


@once_a_node
def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {each.name: each for each in tree.body if isinstance(each, ast.ClassDef)}


def _beginning(node: ast.expr) -> str | None:
    """The text that an expression begins with: ``f"cuda:{rank}"``, ``"cuda:" + rank``, ``"cuda:%d" % rank``."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    elif isinstance(node, ast.BinOp):
        node = node.left
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_tensor_type(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else public_path(node)
    return isinstance(text, str) and text.startswith("torch.cuda.")


def _trains_on_gpu(scope: Scope, call: ast.Call) -> bool:
    """``Trainer(accelerator="gpu")`` of Lightning, and ``gpus=1`` of its older releases."""
    if last_name(call.func) != "Trainer" or not _imports_lightning(scope.file.tree):
        return False
    given = {each.arg: each.value for each in call.keywords}
    accelerator, gpus = given.get("accelerator"), given.get("gpus")
    if isinstance(accelerator, ast.Constant):
        return accelerator.value in _ACCELERATORS
    if isinstance(gpus, ast.UnaryOp):
        return isinstance(gpus.op, ast.USub) and isinstance(gpus.operand, ast.Constant)  # -1: all of them
    if isinstance(gpus, ast.Constant):
        return isinstance(gpus.value, (int, str)) and gpus.value not in (0, "0", "")
    return isinstance(gpus, ast.List) and bool(gpus.elts)


@once_a_node
def _imports_lightning(tree: ast.Module) -> bool:
    modules = [each.module or "" for each in nodes_in(tree, ast.ImportFrom)]
    modules += [name.name for each in nodes_in(tree, ast.Import) for name in each.names]
    return any(each.partition(".")[0] in ("lightning", "pytorch_lightning") for each in modules)
