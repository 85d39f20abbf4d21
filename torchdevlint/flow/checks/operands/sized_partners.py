"""Operands that were made as large as their partner, of which nothing but that is known: ``x + torch.randn(x.shape)``.

What has a shape and meets a tensor is one, wherever it came from. Code that speaks of devices expects it anywhere, and
so does a Module. So is what was calculated of it: ``(x.max() - x.min()) * torch.randn(x.shape)``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.events import LayerCalled, Mixed, Operated
from torchdevlint.flow.facts.tensors import GRADIENT
from torchdevlint.flow.kinds.sizes import sizes_asked
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.operations import Operands
from torchdevlint.flow.scope.assigned import unpacked_to, values_by_path
from torchdevlint.flow.scope.bookkeeping import is_bookkeeping
from torchdevlint.flow.scope.brought_back import says_cpu
from torchdevlint.flow.scope.knowing_devices import knows_devices
from torchdevlint.flow.scope.model_names import is_named_like_a_loss, is_short_for_a_loss
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names, public_path
from torchdevlint.flow.scope.origins import made_of
from torchdevlint.flow.scope.uses import asked_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, TOP, Device, Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import is_told_device
from torchdevlint.flow.state.values import Ref, Site, Step, Tensor, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_OF_DATA = regex(r"data|batch|sample|image|img|frame|audio|wave|collate|augment|transform|preprocess|init|load|read")
"""Words of what is prepared on the CPU, or before anything moves."""
_CALCULATES = frozenset(
    """
    abs amax amin clamp clone contiguous detach double exp expand_as flatten float log max mean min norm permute pow
    prod reshape sigmoid softmax sqrt square squeeze std sum t tanh transpose unsqueeze var view
    """.split()
)
"""Methods that give a tensor where theirs is, and that numbers do not have, but for a few that none is asked for."""
_MOST_NAMES = 3
_OF_THE_HOST = frozenset({"numpy", "cv2", "PIL", "pandas", "scipy", "skimage", "sklearn", "librosa", "torchaudio"})


def _note_operands(event: Operated) -> None:
    _look(event.frame, event.state, event.node, event.operation, event.operands)


def _note_call(event: LayerCalled) -> None:
    """``mse(d, torch.ones(d.shape))``: a loss of unknown class compares the two."""
    frame, node = event.frame, event.node
    if not (is_named_like_a_loss(event.layer) or is_short_for_a_loss(event.layer)):
        return
    given = [(at, value) for at, value in event.operands if at in node.args]
    if len(given) == len(node.args) == 2:
        _look(frame, event.state, node, f"`{frame.machine.text_of(node.func)}()`", given)


def _note_method(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``p.data.add_(torch.randn(p.shape))``, of what is no more than this known to be a tensor."""
    if isinstance(receiver, Unknown) and isinstance(node.func, ast.Attribute):
        operands = [(node.func.value, receiver), *arguments.positional]
        _look(frame, state, node, f"`.{node.func.attr}()`", operands)


def _look(frame: Frame, state: State, node: ast.AST, operation: str, operands: Operands) -> None:
    function = frame.function
    if len(operands) < 2 or function is None:
        return
    unknown = [at for at, value in operands if _is_unknown(value)]
    if not unknown:
        return
    conditions = state.conditions
    made = [(at, each) for at, value in operands for _, each in alternatives(value, conditions) if _is_made(each)]
    for at in unknown if made else ():
        for name in _names(frame, at):
            if not _may_be_elsewhere(frame, state, name, operation == GRADIENT) or _is_left_to_cpu(function, at):
                break
            for stayed_at, stayed in made:
                if all(_is_sized_after(function, site, name) for site in stayed.creations):  # type: ignore[attr-defined]
                    step = Step(f"`{name}` is asked for its shape, so that both go together", at)
                    other = Tensor(Device(Origin.ARGUMENT, name), None, (), (step,))
                    pair = (stayed_at, stayed), (at, other)
                    frame.machine.emit(Mixed(frame, state, node, operation, *pair))  # type: ignore[arg-type]
                    return


def _names(frame: Frame, at: ast.expr) -> Iterator[str]:
    """What an operand is, or is calculated of: ``gain / current``, ``x.max()``; `p` of ``p.data``."""
    if frame.function is not None:
        yield from dict.fromkeys(_origins(frame.function, at))


def _origins(function: AnyFunction, node: ast.expr, names: int = 0) -> Iterator[str]:
    path = _path(node)
    if path is not None:
        yield path
        holder, _, last = path.rpartition(".")
        if holder and last in ("data", "grad"):
            yield holder
    parts: list[ast.expr] = []
    if isinstance(node, ast.Name):
        made = values_by_path(function).get(node.id, []) if names < _MOST_NAMES else []
        parts, names = made if len(made) == 1 else [], names + 1
    elif isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Subscript):
        parts = [node.value]
    elif isinstance(node, ast.Call) and public_path(node.func).startswith("torch."):
        parts = node.args if last_name(node.func) in torch_api.TORCH_TENSOR else []
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        parts = [node.func.value] if node.func.attr in _CALCULATES else []
    for each in parts:
        yield from _origins(function, each, names)


def _path(node: ast.expr) -> str | None:
    """``state.momenta``, and an item as it is written: ``found[name]``."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Constant)):
        held = _path(node.value)
        return None if held is None else f"{held}[{ast.unparse(node.slice)}]"
    return dotted_path(node)


def _is_made(value: Value) -> bool:
    return type(value) is Tensor and value.device == DEFAULT and bool(value.creations) and value.ndim != 0


def _is_unknown(value: Value) -> bool:
    """Whether nothing says what it is; or that it is a tensor, and not where."""
    kind = type(value)
    if kind is Tensor:
        return value.device == TOP and not value.creations  # type: ignore[attr-defined]
    return kind is Unknown and value.given is None and not value.made_by  # type: ignore[attr-defined]


def _may_be_elsewhere(frame: Frame, state: State, name: str, trained: bool = False) -> bool:
    """Whether it is no argument, which others judge, is made of nothing of the host, and its code speaks of devices.

    So does code of what is `trained`: it gets a gradient, or is asked for one.
    """
    name = name.removesuffix(".data").removesuffix(".grad")
    function, root = frame.function, name.partition(".")[0].partition("[")[0]
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or frame.depth:
        return False
    if function in frame.machine.pipeline or root in parameter_names(function) - {"self"} or is_bookkeeping(name):
        return False
    speaks, of_module = knows_devices(function), frame.owner is not None and frame.owner.is_module
    if (_OF_DATA.search(frame.scope.lower()) and not speaks and not of_module) or _OF_DATA.search(name.lower()):
        return False
    whole = name.partition("[")[0]
    if any(_is_of_the_host(frame, state, each) for each in made_of(function, whole)) or _is_moved(function, root):
        return False
    if trained or asked_in(function).get(name, set()) & {"grad", "requires_grad"}:
        return True
    owner = frame.owner
    return speaks or (owner is not None and (owner.is_module or knows_devices(owner.node)))


def _is_moved(function: ast.AST, name: str) -> bool:
    """Whether a move of the function, be it later on, says that it comes from the CPU: ``(x + noise).to(d)``."""
    moves = (each.func for each in nodes_in(function, ast.Call) if last_name(each.func) in ("to", "cuda"))
    receivers = (each.value for each in moves if isinstance(each, ast.Attribute))
    return any(isinstance(part, ast.Name) and part.id == name for each in receivers for part in inside(each))


def _is_left_to_cpu(function: AnyFunction, at: ast.expr) -> bool:
    """Whether the function has brought its model to the CPU before: ``model = model.to("cpu")``."""
    return any(line < at.lineno for line in _models_brought_back(function))


@once_a_node
def _models_brought_back(function: AnyFunction) -> list[int]:
    """The lines in which a function brings a model to the CPU, which is what it calls, or its methods."""
    moves = ((each, each.func.value) for each in nodes_in(function, ast.Call) if isinstance(each.func, ast.Attribute))
    held = [(each.lineno, dotted_path(value)) for each, value in moves if says_cpu(each)]
    called = [dotted_path(each.func) or "" for each in nodes_in(function, ast.Call)] if held else []
    return [line for line, name in held if name and (name in called or _has_own_methods(name, called))]


def _has_own_methods(name: str, called: list[str]) -> bool:
    """Whether a method of it is called that no tensor has."""
    methods = (each.removeprefix(f"{name}.") for each in called if each.startswith(f"{name}."))
    return any(not torch_api.is_of_tensors(each) and each not in torch_api.MOVE_METHODS for each in methods)


def _is_of_the_host(frame: Frame, state: State, made: ast.expr) -> bool:
    """Whether a library of the host made it, or it was brought there: ``x.cpu()``, ``np.f(y)``.

    So are the rows of a data set, as it keeps them: ``loader.dataset[:]``.
    """
    if any(_is_data_set(each) for each in inside(made)):
        return True
    for each in (call for call in inside(made) if isinstance(call, ast.Call)):
        if isinstance(each.func, ast.Attribute) and each.func.attr in ("cpu", "numpy", "tolist", "from_numpy"):
            return True
        called = frame.evaluate(each.func, state) if dotted_path(each.func) is not None else None
        if isinstance(called, Ref) and called.name.partition(".")[0] in _OF_THE_HOST:
            return True
    return False


def _is_data_set(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.lower().endswith(("dataset", "data_set"))


def _is_sized_after(function: AnyFunction, site: Site, name: str) -> bool:
    if not isinstance(site.node, ast.Call) or is_told_device(site) or site.drawn:
        return False
    given = [*site.node.args, *(each.value for each in site.node.keywords if each.arg == "size")]
    return any(_path(each.value) == name for each in sizes_asked([*given, *_told_before(function, given)]))


def _told_before(function: AnyFunction, given: list[ast.expr]) -> Iterator[ast.expr]:
    """What the names of sizes are bound to, each alone or among others: ``shape = x.shape``, ``n, d = x.shape``."""
    for name in (each.id for node in given for each in inside(node) if isinstance(each, ast.Name)):
        values = values_by_path(function).get(name, [])
        unpacked = [value for _, value in unpacked_to(function, name)]
        yield from values if len(values) == 1 and not unpacked else unpacked if len(unpacked) == 1 else ()


EVENTS = {Operated: _note_operands, LayerCalled: _note_call}
METHODS = dict.fromkeys(("add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_"), _note_method)
