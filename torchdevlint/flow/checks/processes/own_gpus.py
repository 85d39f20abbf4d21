"""One process a GPU: which GPU it is, and since when."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchdevlint.flow.facts.processes import RankMismatch
from torchdevlint.flow.kinds.ranks import asked_at
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, public_path
from torchdevlint.flow.scope.rendezvous import meets_on_this_machine
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Origin
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, Choice, Const, Library, Obj, Step, Tensor, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

_SETTERS_OF_TORCH = frozenset({"torch.cuda.set_device", "torch.accelerator.set_device_index"})
_SETTERS = frozenset({"set_device", "set_device_index"})
_WRAPPER = "torch.nn.parallel.DistributedDataParallel"
_DISTRIBUTED = frozenset({"init_process_group", "DistributedDataParallel"})
_ON_ONE_MACHINE = frozenset({"spawn", "start_processes", "Process", "MultiProcessTestCase"})
"""Words of files that start their processes themselves: all are on this machine."""
_CHOICES = frozenset({*_SETTERS, "CUDA_VISIBLE_DEVICES", "device_of", "device_id"})
"""Words of files that choose the GPU of a process in a way that may hold wherever it is used."""
_OF_MACHINES = ("device_count", "node", "local_")
"""What a test speaks of that tells one machine from several."""
_MACHINES = regex(r"(?:^|_)n?(?:node|host|machine)s?(?:$|_)", re.IGNORECASE)
"""Names of numbers of machines, and of the number of one."""
_NUMBERS_OF_LAUNCHERS = {
    "SLURM_PROCID": "SLURM_LOCALID",
    "OMPI_COMM_WORLD_RANK": "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMI_RANK": "MPI_LOCALRANKID",
}
"""The variables in which launchers other than torchrun give the number of a process, among all and on its machine."""


def _place(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A function that takes the number of a GPU, or a device."""
    position = 1 if name == "torch.device" and len(arguments.positional) > 1 else 0
    if name in _SETTERS_OF_TORCH or name in ("torch.cuda.device", "torch.device"):
        _look(frame, state, node, arguments.get(position, "index" if position else "device"))
    else:
        _look(frame, state, node, arguments.keywords.get("device"))
    if name in _SETTERS_OF_TORCH:
        _chosen(frame, state, node, arguments.value(0, "device"))


def _move(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``model.to(rank)``, ``x.cuda(rank)``."""
    _look(frame, state, node, arguments.get(0, "device"))


def _ids(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DistributedDataParallel(model, device_ids=[rank])``, ``barrier(device_ids=[rank])``."""
    ids = arguments.keywords.get("device_ids")
    _look(frame, state, node, ids or arguments.keywords.get("output_device"))
    if name == _WRAPPER and not arguments.double_starred and (ids is None or ids[1] == NONE or _is_one_name(ids[0])):
        _shared(frame, state, node, arguments)


def _is_one_name(ids: ast.expr) -> bool:
    """``[rank]``, a number that is another one in each process."""
    return isinstance(ids, ast.List) and len(ids.elts) == 1 and dotted_path(ids.elts[0]) is not None


def _look(frame: Frame, state: State, node: ast.Call, given: tuple[ast.expr, Value] | None) -> None:
    """Record the number of this process among all, where it stands for the number of a GPU of this machine."""
    asked = None if given is None else asked_at(given[1])
    machine = frame.machine
    if asked is None or given is None or machine.words & _ON_ONE_MACHINE or backends(frame) == {"gloo"}:
        return
    if meets_on_this_machine(machine.tree):
        return
    if any(word in key for key, _ in state.conditions for word in _OF_MACHINES) or "device_count" in _sizes(frame):
        return
    text = machine.text_of(node)
    machine.record(
        ("rank", asked),
        lambda: RankMismatch(
            machine.span_of(node),
            "global",
            text,
            machine.text_of(asked),
            machine.span_of(asked),
            _local_variable(machine.words),
        ),
        state,
    )


def _chosen(frame: Frame, state: State, node: ast.Call, index: Value) -> None:
    """``torch.cuda.set_device(n)`` after something was moved to the GPU that was the current one until then."""
    machine, scope = frame.machine, frame.function or frame.machine.tree
    if isinstance(index, Const) or frame.loop_depth or scope is None or not machine.words & _DISTRIBUTED:
        return
    if len([each for each in _calls(frame) if _tail(each) in _SETTERS]) != 1:
        return
    inside = {id(each) for each in nodes_in(scope, ast.Call)}
    if _has_a_machine_for_itself(machine.tree):
        return
    placed = [each for each in (*state.env.values(), *state.paths.values()) if not _spreads(each)]
    steps = [_put(each, numbered=False) for each in placed]
    moves = [each.node for each in steps if each is not None and id(each.node) in inside and _precedes(each.node, node)]
    if not moves:
        return
    moved = min(moves, key=lambda each: getattr(each, "lineno", 0))
    if _asks_for(node, moved):
        return
    machine.record(
        ("late", node),
        lambda: RankMismatch(
            machine.span_of(moved), "late", machine.text_of(moved), machine.text_of(node), machine.span_of(node)
        ),
        state,
    )


def _shared(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> None:
    """``DistributedDataParallel(model)`` of a model that every process has moved to the same GPU."""
    machine = frame.machine
    step = _put(arguments.value(0, "module"), numbered=True)
    if step is None or backends(frame) != {"nccl"} or _CHOICES & machine.words or _sizes(frame) & {"1"}:
        return
    if any(public_path(each.func) == "torch.cuda.device" for each in _calls(frame)):
        return
    if _has_a_machine_for_itself(machine.tree):
        return
    moved, text = step.node, machine.text_of(node)
    numbered = _put(arguments.value(0, "module"), numbered=False) is None
    machine.record(
        ("shared", node),
        lambda: RankMismatch(
            machine.span_of(node),
            "shared",
            text,
            machine.text_of(moved),
            machine.span_of(moved),
            _local_variable(machine.words),
            numbered,
        ),
        state,
    )


def _spreads(value: Value) -> bool:
    """Whether it is a `DataParallel`, which wants its model on the first GPU, whichever the current one is."""
    return any(isinstance(each, Library) and each.name == "torch.nn.DataParallel" for _, each in alternatives(value))


def _asks_for(node: ast.Call, moved: ast.AST) -> bool:
    """Whether the GPU is chosen by what was moved: ``torch.cuda.set_device(model.device)``."""
    receiver = moved.func.value if isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute) else moved
    names = {each.id for each in inside(receiver) if isinstance(each, ast.Name)}
    return any(isinstance(each, ast.Name) and each.id in names for argument in node.args for each in inside(argument))


@once_a_node
def _has_a_machine_for_itself(tree: ast.Module) -> bool:
    """Whether there are as many processes as machines: ``world_size=len(hosts)``, which nothing multiplies."""
    given = [
        each.value
        for call in nodes_in(tree, ast.Call)
        if _tail(call) == "init_process_group"
        for each in call.keywords
        if each.arg == "world_size"
    ]
    given += values_by_path(tree).get("os.environ['WORLD_SIZE']", [])
    for _ in range(_MAX_HOPS):
        given += [value for each in given for value in values_by_path(tree).get(_spelled_out(each), ())]
    counted = [name for each in given for part in inside(each) for name in _names_of(part)]
    products = (part for each in given for part in inside(each) if isinstance(part, ast.BinOp))
    multiplied = any(isinstance(each.op, ast.Mult) for each in products)
    return any(map(_MACHINES.search, counted)) and not multiplied and "LOCAL_RANK" not in _texts(tree)


_MAX_HOPS = 2
"""How many assignments a number of processes is followed through."""


def _spelled_out(node: ast.expr) -> str:
    """The name in ``str(name)``, or the path of a name or attribute itself."""
    if isinstance(node, ast.Call) and dotted_path(node.func) in ("str", "int") and len(node.args) == 1:
        node = node.args[0]
    return dotted_path(node) or ""


def _names_of(node: ast.AST) -> list[str]:
    return [node.attr] if isinstance(node, ast.Attribute) else [node.id] if isinstance(node, ast.Name) else []


def _texts(tree: ast.Module) -> set[object]:
    return {each.value for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str)}


def _local_variable(words: frozenset[str]) -> str:
    """The environment variable in which the launcher of a file gives the number of a process on its machine."""
    if words & {"RANK", "LOCAL_RANK"}:
        return "LOCAL_RANK"
    return next((local for among_all, local in _NUMBERS_OF_LAUNCHERS.items() if among_all in words), "LOCAL_RANK")


def _put(value: Value, numbered: bool) -> Step | None:
    """The move that put a value on the current GPU, or, if `numbered`, on one with a literal number; else None."""
    if isinstance(value, Choice):
        value = next((each for _, each in value.alternatives if _put(each, numbered) is not None), value)
    step = value.steps[-1] if isinstance(value, Tensor) and value.moved and value.steps else None
    if isinstance(value, (Library, Obj)):
        step = value.placed
    device = value.device if isinstance(value, (Tensor, Library, Obj)) else None
    if step is None or device is None or not isinstance(step.node, ast.Call):
        return None
    known = device.origin is Origin.LITERAL and device.name == "cuda" and (numbered or device.index is None)
    return step if known else None


def _precedes(one: ast.AST, other: ast.AST) -> bool:
    return getattr(one, "lineno", 0) < getattr(other, "lineno", 0)


def _calls(frame: Frame) -> Iterator[ast.Call]:
    if frame.machine.tree is not None:
        yield from nodes_in(frame.machine.tree, ast.Call)


def _tail(call: ast.Call) -> str:
    return (dotted_path(call.func) or "").rpartition(".")[2]


def backends(frame: Frame) -> set[str]:
    """What the process groups of this file are made with; a name that is not literal is a question mark."""
    found: set[str] = set()
    for call in _calls(frame):
        if _tail(call) == "init_process_group":
            given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "backend")]
            name = given[0] if given else ast.Constant("nccl")
            found.add(str(name.value) if isinstance(name, ast.Constant) else "?")
    return found


def _sizes(frame: Frame) -> set[str]:
    """How many processes the groups of this file have, where that is a number or what a call counts."""
    sizes = [
        keyword.value
        for call in _calls(frame)
        if _tail(call) == "init_process_group"
        for keyword in call.keywords
        if keyword.arg == "world_size"
    ]
    counts = {_tail(each) for each in sizes if isinstance(each, ast.Call)}
    return counts | {str(each.value) for each in sizes if isinstance(each, ast.Constant)}


_FACTORIES = sorted(torch_api.FACTORIES | torch_api.LIKE_FACTORIES)
FUNCTIONS = {
    **dict.fromkeys((*sorted(_SETTERS_OF_TORCH), "torch.cuda.device", "torch.device"), _place),
    **{f"torch.{name}": _place for name in _FACTORIES},
    **dict.fromkeys((_WRAPPER, "torch.distributed.barrier"), _ids),
}
METHODS = {"to": _move, "cuda": _move}
