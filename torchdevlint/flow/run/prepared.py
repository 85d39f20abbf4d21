"""Models that accelerate prepares, or DeepSpeed initialises: they are moved, and nothing else moves with them.

Those of accelerate are wrapped where several processes run. A loader that is prepared brings its batches to the
device, one that is not does not (TDL005), and of an optimizer nothing is known. What is gathered from all processes
stays where it is.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.kinds.known_devices import ACCELERATOR, ACCELERATOR_OF_CPU
from torchdevlint.flow.run.moves import as_moved
from torchdevlint.flow.scope.names import dotted_path, last_name, parameter_names
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import TOP, Device, Origin, on_cpu
from torchdevlint.flow.state.joins import choose, distribute, is_module, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Choice,
    Conditions,
    Const,
    Library,
    Obj,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignment_of, assignments_in, inside, nodes_in

_ALONE: Conditions = (("one process of accelerate", True),)
_SEVERAL: Conditions = (("one process of accelerate", False),)
_OTHER_ENGINES = frozenset({"fsdp_plugin", "deepspeed_plugin", "megatron_lm_plugin", "cpu", "device_placement"})
"""Their wrappers hand attributes through to the model, or there is no GPU, or nothing is moved."""
_TRAINERS = regex(r"transformers\.(?:[\w.]+\.)?(?:Seq2Seq)?Trainer")


def make_accelerator(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Accelerator(..)``, unless it is told which engine wraps the models; ``Accelerator(cpu=True)`` is on the CPU."""
    if arguments.keyword_values.get("cpu") == Const(True):
        return Unknown(made_by=ACCELERATOR_OF_CPU)
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


def _prepare(frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    """``accelerator.prepare(model, optimizer, ..)`` gives what it got, in that order; models are wrapped."""
    if arguments.starred or "device_placement" in arguments.keywords:
        return UNKNOWN
    kept = _kept_as(frame, node)
    given = [
        _prepared(frame, node, value, {dotted_path(argument), *kept[place : place + 1]} - {None})
        for place, (argument, value) in enumerate(arguments.positional)
    ]
    return given[0] if len(given) == 1 else sequence(given)


def _gather(frame: Frame, node: ast.Call, arguments: Arguments) -> Value:
    """``accelerator.gather(t)``: on a machine with GPUs, processes send nothing else than what is on one of them.

    So that is where an argument of the function is. Of what others have made nothing is known, not even that it is a
    tensor.
    """
    if _its_device(node) == TOP or not arguments.pairs:
        return UNKNOWN
    at, given = arguments.pairs[0]
    if isinstance(given, Seq) and given.items and isinstance(at, ast.Tuple):
        return sequence([_on_all(frame, node, *each) for each in zip(at.elts, given.items, strict=False)])
    if isinstance(given, Choice):
        return distribute(given, lambda each: _on_all(frame, node, at, each))
    return _on_all(frame, node, at, given)


def _on_all(frame: Frame, node: ast.Call, at: ast.expr, value: Value) -> Value:
    """What one thing is that an accelerator gathers."""
    if not isinstance(value, (Tensor, Unknown)):
        return UNKNOWN
    place = value.device if isinstance(value, Tensor) else value.given or TOP
    if on_cpu(place):
        return UNKNOWN
    is_argument = isinstance(at, ast.Name) and frame.function is not None and at.id in parameter_names(frame.function)
    if place.origin not in _KNOWN and place.origin is not Origin.ARGUMENT and not is_argument:
        return UNKNOWN
    there = place if place.origin in _KNOWN else _its_device(node)
    gathered = Step(f"gathered on {there.describe()}", node)
    if last_name(node.func) == "gather_for_metrics" and value == UNKNOWN:
        return Unknown(given=there)  # it takes anything
    if isinstance(value, Tensor):
        return replace(value, device=there, steps=(*value.steps, gathered))
    return Tensor(there, None, (), (gathered,), opaque=True)


_KNOWN = frozenset({Origin.EXPRESSION, Origin.MODEL, Origin.LITERAL})


def _its_device(node: ast.Call) -> Device:
    """The device of the accelerator whose method is called, by its name."""
    accelerator = dotted_path(node.func.value) if isinstance(node.func, ast.Attribute) else None
    return TOP if accelerator is None else Device(Origin.EXPRESSION, f"{accelerator}.device")


METHODS = {"prepare": _prepare, **dict.fromkeys(("gather", "gather_for_metrics", "reduce"), _gather)}
"""What an `Accelerator` does."""


def _kept_as(frame: Frame, node: ast.Call) -> list[str | None]:
    """The names and attributes that an assignment binds to what a call gives."""
    bound = (each for each in assignments_in(frame.function or frame.machine.tree) if each.value is node)
    target = next((each.targets[0] for each in bound), None)
    parts = target.elts if isinstance(target, ast.Tuple) else [target] if target is not None else []
    return [dotted_path(each) for each in parts]


def _prepared(frame: Frame, node: ast.Call, value: Value, paths: set[str | None]) -> Value:
    """A model is moved, and wrapped if it has a parameter to train; a loader gives its batches where the models are.

    Optimizers that average their weights are set to training as well, and take steps.
    """
    if any(_is_asked(frame, each, _ASKED_OF_OPTIMIZERS) for each in paths):
        return UNKNOWN
    there = _its_device(node)
    trained = any(_is_asked(frame, each, _ASKED_OF_TRAINED) for each in paths)
    if not trained and any(_is_gone_through(frame, each) for each in paths):
        return Seq(None, Unknown(given=there))
    if not (trained or any(_is_asked(frame, each, _ASKED_OF_MODELS) for each in paths)):
        return UNKNOWN
    step = Step(f"prepared for {there.describe()}", node)
    known = isinstance(value, (Obj, Library)) and is_module(value)
    alone = as_moved(value, there, step) if known else Library("", True, there, placed=step)  # type: ignore[arg-type]
    wrapper = Library("torch.nn.parallel.DistributedDataParallel", True, there, "module.", alone, made_at=node)
    return choose([(_SEVERAL, wrapper), (_ALONE, alone)]) if trained else alone


def _scope_of(frame: Frame, path: str | None) -> ast.AST:
    """Where a name, or an attribute of `self`, is used."""
    within = frame.owner.node if frame.owner is not None and (path or "").startswith("self.") else frame.function
    return within or frame.machine.tree


def _is_gone_through(frame: Frame, path: str | None) -> bool:
    """``for batch in loader``, also with numbers or a progress bar."""
    scope = _scope_of(frame, path)
    loops = [each.iter for each in nodes_in(scope, ast.For)]
    loops += [each.iter for each in nodes_in(scope, ast.comprehension)]
    shown = (each.args[0] if isinstance(each, ast.Call) and each.args else each for each in loops)
    return any(dotted_path(each) == path for one in shown for each in (one, *getattr(one, "args", ())[:1]))


def _is_asked(frame: Frame, path: str | None, names: frozenset[str]) -> bool:
    """Whether something is asked for one of these, and for more than what freezes it.

    What is set to training, or whose parameters an optimizer gets, is a model, and not a frozen one.
    """
    scope = _scope_of(frame, path)
    frozen = {part for loop in nodes_in(scope, ast.For) if _freezes(loop) for part in inside(loop.iter)}
    asked = (each for each in nodes_in(scope, ast.Attribute) if each.attr in names and each not in frozen)
    return any(dotted_path(each.value) == path for each in asked)


_ASKED_OF_TRAINED = frozenset({"train", "parameters", "named_parameters"})
_ASKED_OF_MODELS = frozenset({"eval"})
_ASKED_OF_OPTIMIZERS = frozenset({"step", "param_groups", "add_param_group"})


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
