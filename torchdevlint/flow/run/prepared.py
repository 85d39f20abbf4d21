"""Models that accelerate prepares, or DeepSpeed initialises: they are moved, and nothing else moves with them.

Those of accelerate are wrapped where several processes run. What else is prepared is not known afterwards: a loader
brings its batches to the device. One that is not prepared does not (TDL005).
"""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.known_devices import ACCELERATOR
from torchdevlint.flow.run.moves import as_moved
from torchdevlint.flow.scope.names import dotted_path, last_name
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import TOP, Device, Origin
from torchdevlint.flow.state.joins import choose, is_module, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import UNKNOWN, Conditions, Library, Obj, Step, Unknown, Value
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignment_of, inside, nodes_in

_ALONE: Conditions = (("one process of accelerate", True),)
_SEVERAL: Conditions = (("one process of accelerate", False),)
_OTHER_ENGINES = frozenset({"fsdp_plugin", "deepspeed_plugin", "megatron_lm_plugin", "cpu", "device_placement"})
"""Their wrappers hand attributes through to the model, or there is no GPU, or nothing is moved."""
_TRAINERS = regex(r"transformers\.(?:[\w.]+\.)?(?:Seq2Seq)?Trainer")


def make_accelerator(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Accelerator(..)``, unless it is told which engine wraps the models."""
    return Unknown(made_by=ACCELERATOR) if _OTHER_ENGINES.isdisjoint(arguments.keywords) else UNKNOWN


def initialize_deepspeed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``engine, optimizer, loader, scheduler = deepspeed.initialize(model=model)``: the engine is on the current GPU.

    It does not move what it is called with; the loader that it makes of ``training_data=`` does.
    """
    there = Device(Origin.LITERAL, "cuda")
    engine = Library("", True, there, made_at=node, placed=Step("made by DeepSpeed on the current GPU", node))
    return sequence([engine, UNKNOWN, UNKNOWN, UNKNOWN])


def accelerator_of(receiver: Obj, name: str) -> Value:
    """``self.accelerator`` of a class that is a Trainer of transformers."""
    bases = (base for each in receiver.info.mro for base in each.library_bases)
    is_it = name == "accelerator" and any(_TRAINERS.fullmatch(base) for base in bases)
    return Unknown(made_by=ACCELERATOR) if is_it else UNKNOWN


def prepare(frame: Frame, node: ast.Call, receiver: Unknown, arguments: Arguments) -> Value:
    """``accelerator.prepare(model, optimizer, ..)`` gives what it got, in that order; models are wrapped."""
    if receiver.made_by != ACCELERATOR or arguments.starred or "device_placement" in arguments.keywords:
        return UNKNOWN
    accelerator = dotted_path(node.func.value) if isinstance(node.func, ast.Attribute) else None
    there = TOP if accelerator is None else Device(Origin.EXPRESSION, f"{accelerator}.device")
    given = [_prepared(frame, node, there, *each) for each in arguments.positional]
    return given[0] if len(given) == 1 else sequence(given)


def _prepared(frame: Frame, node: ast.Call, there: Device, argument: ast.expr, value: Value) -> Value:
    """A model that is trained; what has no parameter to train is not wrapped."""
    path = dotted_path(argument)
    if path is None or not _is_trained(frame, path):
        return UNKNOWN
    step = Step(f"prepared for {there.describe()}", node)
    known = isinstance(value, (Obj, Library)) and is_module(value)
    alone = as_moved(value, there, step) if known else Library("", True, there, placed=step)  # type: ignore[arg-type]
    wrapper = Library("torch.nn.parallel.DistributedDataParallel", True, TOP, "module.", alone, made_at=node)
    return choose([(_SEVERAL, wrapper), (_ALONE, alone)])


def _is_trained(frame: Frame, path: str) -> bool:
    """Whether it is set to training, or an optimizer gets its parameters: then it is a model, and not a frozen one."""
    within = frame.owner.node if frame.owner is not None and path.startswith("self.") else frame.function
    scope = within or frame.machine.tree
    frozen = {part for loop in nodes_in(scope, ast.For) if _freezes(loop) for part in inside(loop.iter)}
    asked = (each for each in nodes_in(scope, ast.Attribute) if each.attr in _ASKED_OF_TRAINED and each not in frozen)
    return any(dotted_path(each.value) == path for each in asked)


_ASKED_OF_TRAINED = frozenset({"train", "parameters", "named_parameters"})


def _freezes(loop: ast.For) -> bool:
    """``for p in model.parameters(): p.requires_grad = False``, of all that the loop goes over."""
    return any(map(_is_frozen_by, loop.body))


def _is_frozen_by(step: ast.stmt) -> bool:
    assigned = assignment_of(step)
    if assigned is not None:
        written = any(isinstance(each, ast.Attribute) and each.attr == "requires_grad" for each in assigned.targets)
        return written and _is_false(assigned.value)
    call = step.value if isinstance(step, ast.Expr) else None
    frozen = isinstance(call, ast.Call) and last_name(call.func) == "requires_grad_"
    return frozen and bool(call.args) and _is_false(call.args[0])  # type: ignore[union-attr]


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
