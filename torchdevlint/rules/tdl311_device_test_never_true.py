"""A test of a tensor's place or type is never true on an accelerator.

## What it does
Finds tests that ask where a tensor is, or of what type it is, and that one answer is never given to:

- `x.device == "cpu"`, `x.device != "cuda"` and `x.device in ("cpu", "cuda")`: a `torch.device` never equals a string;
- `x.device == torch.device("cuda")`: the device of a tensor has a number, `cuda:0`, and the other one has none;
- `isinstance(x, torch.LongTensor)` and `x.type() == "torch.LongTensor"`: that is a type of the CPU, whose counterpart
  on a GPU is `torch.cuda.LongTensor`;
- `device == ["cuda", "mps"]`, where the same function compares `device` with a string: no string equals a list;
- `if torch.cuda.is_available:` without parentheses: a function is always true; and `2 * torch.cuda.device_count`;
- `x.is_cuda()` with parentheses: True and False cannot be called.

The first two are reported where `x.device` surely is a `torch.device`, of a tensor or made by the code. The third is
reported for tensors that are where the model, an argument or a device is, the last for what surely is a tensor.

## Why is this bad?
The branch for that device is never taken, an `assert` stops the program, and with `!=` the branch is always taken.
Nothing raises there; the call of `is_cuda` does, since it calls True or False. On a laptop a test for a type of the
CPU is true, so that it is missed only where an accelerator is; without a GPU, a program that takes the function for
its answer asks for CUDA all the same.

## Example
```python
def to_numpy(x: torch.Tensor):
    if x.device == "cuda":
        x = x.cpu()
    return x.detach()
```

## Use instead
```python
def to_numpy(x: torch.Tensor):
    if x.device.type == "cuda":
        x = x.cpu()
    return x.detach()
```
`x.device.type` is a string without a number. Ask for the type of the elements by `x.dtype == torch.long`, and whether
it is a tensor at all by `isinstance(x, torch.Tensor)`.

## Fix safety
The fix writes `.type` behind the device where it is compared with names of types alone, such as `"cpu"`. It is safe
where the test decides over moves alone; elsewhere an arm is run that has never been run before, be it one that wraps
the model. There is none for `"cuda:0"`, for strings that are kept in a variable, and for tests of
types of tensors. It adds parentheses to a function that is taken for its answer, and removes those behind `is_cuda`;
both are safe.

## What it cannot see
Devices that are parameters or options, which may be strings. It is silent where the same test, or for types of tensors
the same function, asks for the other answer too, and where a function refuses an argument unless it is of such a type:
it is for tensors of the CPU.

## References
- [torch.device](https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device)
- [torch.Tensor](https://docs.pytorch.org/docs/stable/tensors.html#data-types): the types of the CPU and of the GPU
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from torchdevlint.flow.checks.operands.asked_types import adds_nothing, only_copies
from torchdevlint.flow.checks.operands.tuning import only_tunes
from torchdevlint.flow.events import Asked, Compared
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds.bound_once import bound_once
from torchdevlint.flow.kinds.tensor_uses import is_told_alone
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.asserted import asserted_in
from torchdevlint.flow.scope.decided_moves import decides_moves_alone
from torchdevlint.flow.scope.device_questions import COUNTS, QUESTIONS, branched_by, demanded, is_list_of_names
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import Device, Origin, on_cpu
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, only
from torchdevlint.flow.state.values import Const, Dev, Ref, Seq, Tensor, Unknown, Value
from torchdevlint.model import Applicability, Report, Severity, Span
from torchdevlint.patterns import regex
from torchdevlint.rules.edits import added_after, cut_after, fix
from torchdevlint.rules.wording import code
from torchdevlint.source.nodes import inside, nodes_in

SEVERITY = Severity.ERROR
EXECUTION = "test"
PROBE = '''
"""The device of a tensor never equals the name of its type."""
import torch

NEEDS = "device"
OBSERVES = {"equal": False}


def flagged(device):
    return {"equal": torch.ones(2, device=device).device == device.type}


def repaired(device):
    return {"equal": torch.ones(2, device=device).device.type == device.type}
'''


class NeverTrue(Fact, frozen=True):
    """A comparison, or a call of `isinstance`, that never holds, or always if it is `negated`.

    `asked` is the text of what is asked, and `wanted` that of what it is held against. `typed_at` is where ``.type``
    makes the test right, if it does. `kind` says what is held against what: "string", "number", "type" or "list"; or
    that a function is "uncalled", "uncounted" where a number is wanted, or an attribute "called", which stands at
    `typed_at`. `where` is the place of the tensor in words, for types, and `surely` whether it is an accelerator's, as
    far as this file goes. `asserted` says that an ``assert`` stops the program there.
    """

    kind: str
    asked: str
    wanted: str
    negated: bool = False
    typed_at: Span | None = None
    where: str = ""
    surely: bool = True
    asserted: bool = False
    moves_alone: bool = False
    """The test decides over moves alone."""
    of_cuda: bool = False
    """The function that is not called asks whether there is CUDA."""

    @property
    def is_without_cuda(self) -> bool:
        return self.of_cuda


_CPU_TYPES = torch_api.TENSOR_CLASSES - torch_api.ANY_TENSOR
_EQUALS = frozenset({ast.Eq, ast.NotEq})
_AMONG = frozenset({ast.In, ast.NotIn})
_OF_NUMBERS = _EQUALS | {ast.Lt, ast.LtE, ast.Gt, ast.GtE}
_OF_GPU = regex(r"\b(cuda|xpu|mps|npu|hpu)\.\w*Tensor|is_cuda")
"""What a function says that knows of the types of accelerators too."""


def _note_comparison(event: Compared) -> None:
    node, symbol = event.node, type(event.node.ops[0])
    if symbol in _OF_NUMBERS:
        for at, value in ((node.left, event.left), (node.comparators[0], event.right)):
            if isinstance(value, Ref) and value.name in COUNTS:
                _record_uncalled(event.frame, event.state, at, "uncounted")
    if symbol not in _EQUALS and symbol not in _AMONG:
        return
    if is_list_of_names(event.frame.function or event.frame.machine.tree, node):
        _record_comparison(event, "list", node.left, node.comparators[0], event.right)
        return
    sides = [(node.left, event.left, node.comparators[0], event.right)]
    if symbol in _EQUALS:
        sides.append((node.comparators[0], event.right, node.left, event.left))
    for asked, value, wanted_node, wanted in sides:
        kind = _kind(event.frame, event.state, asked, value, wanted, symbol in _AMONG)
        if kind == "number" and not (symbol is ast.Eq and _is_made_of_name(event, wanted_node)):
            continue  # what follows ``!=`` is a move, which does nothing to what is there
        if kind and not _asks_more(event.frame, node, asked) and not only_tunes(event.frame, event.state, node):
            _record_comparison(event, kind, asked, wanted_node, wanted)
            return


def _record_comparison(event: Compared, kind: str, asked: ast.expr, wanted_node: ast.expr, wanted: Value) -> None:
    machine, node = event.frame.machine, event.node
    names = [each.value for each in _items(wanted) if isinstance(each, Const)]
    literal = isinstance(wanted_node, ast.Constant) or isinstance(node.ops[0], (ast.In, ast.NotIn))
    typed = kind == "string" and literal and all(name in torch_api.DEVICE_TYPES for name in names)
    machine.record(
        ("never true", node),
        lambda: NeverTrue(
            machine.span_of(node),
            kind,
            machine.text_of(asked),
            machine.text_of(wanted_node),
            isinstance(node.ops[0], (ast.NotEq, ast.NotIn)),
            machine.span_of(asked) if typed and isinstance(asked, (ast.Name, ast.Attribute, ast.Call)) else None,
            asserted=node in asserted_in(event.frame.function or machine.tree),
            moves_alone=decides_moves_alone(
                event.frame.function or machine.tree, node, isinstance(node.ops[0], (ast.NotEq, ast.NotIn))
            ),
        ),
        event.state,
    )


def _kind(frame: Frame, state: State, asked: ast.expr, value: Value, wanted: Value, among: bool) -> str:
    """What `asked` is held against, if that never agrees with it; empty if it may."""
    held = _items(wanted) if among else [wanted]
    if among and not (isinstance(wanted, Seq) and wanted.items):
        return ""
    if _is_type_of_tensor(frame, state, asked):
        names = [each.value for each in held if isinstance(each, Const)]
        known = len(names) == len(held) and all(name in _CPU_TYPES for name in names)
        return "type" if known and not _knows_others(frame) else ""
    if type(value) is not Dev or value.number:
        return ""
    of_tensor = _makes_device(frame, state, asked)
    if of_tensor is None:
        return ""
    if all(isinstance(each, Const) and isinstance(each.value, str) for each in held):
        return "string"
    return "number" if of_tensor and all(_is_cuda_alone(each) for each in held) else ""


def _items(value: Value) -> list[Value]:
    return list(value.items or ()) if isinstance(value, Seq) else [value]


def _is_cuda_alone(value: Value) -> bool:
    """Whether it is ``torch.device("cuda")``, without a number."""
    return isinstance(value, Dev) and value.device == Device(Origin.LITERAL, "cuda") and not value.number


def _is_made_of_name(event: Compared, node: ast.expr) -> bool:
    """Whether it is ``torch.device(name)``, here or where a name is bound; the device of a tensor has a number."""
    if not isinstance(node, ast.Call):
        bound = bound_once(event.frame, node)
        return isinstance(bound, ast.Call) and _is_made_of_name(event, bound)
    alone = len(node.args) == 1 and not node.keywords
    return alone and event.frame.evaluate(node.func, event.state) == Ref("torch.device")


def _makes_device(frame: Frame, state: State, node: ast.expr) -> bool | None:
    """Whether an expression surely is a `torch.device`, and that of a tensor; None if it may be a string.

    A name, or an attribute of `self`, is what it is bound to, where that is done once.
    """
    if isinstance(node, ast.Call):
        return False if frame.evaluate(node.func, state) == Ref("torch.device") else None
    if isinstance(node, ast.Attribute) and node.attr == "device" and dotted_path(node) != "self.device":
        held = [each for _, each in alternatives(frame.evaluate(node.value, state), state.conditions)]
        return True if all(isinstance(each, Tensor) and not each.opaque for each in held) else None
    bound = bound_once(frame, node)
    return None if bound is None else _makes_device(frame, state, bound)


def _is_type_of_tensor(frame: Frame, state: State, node: ast.expr) -> bool:
    """Whether it is ``x.type()`` of a tensor that is not on the CPU."""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "type":
        return False
    return _elsewhere(frame.evaluate(node.func.value, state)) is not None


def _elsewhere(value: Value) -> Device | None:
    """Where a tensor is, or what turns out to be one, if that is not the CPU as far as is known."""
    held = only(value, Tensor) or only(value, Unknown)
    device = held.device if isinstance(held, Tensor) and not held.opaque else getattr(held, "given", None)
    return None if device is None or on_cpu(device) or device.origin is Origin.TOP else device


def _asks_more(frame: Frame, node: ast.Compare, asked: ast.expr) -> bool:
    """Whether the test that holds the comparison asks for the same in another way too."""
    shape, left = ast.dump(asked), ast.dump(node.left)
    for each in nodes_in(frame.function or frame.machine.tree, ast.BoolOp):
        compared = list(nodes_in(each, ast.Compare))
        others = [one for one in compared if ast.dump(one.left) != left] if node in compared else []
        if any(type(part) is type(asked) and ast.dump(part) == shape for one in others for part in inside(one)):
            return True
    return False


def _knows_others(frame: Frame) -> bool:
    function, source = frame.function, frame.machine.reading.source
    return _OF_GPU.search(source.text if function is None else frame.machine.text_of(function)) is not None


def _note_instance(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, _: Value) -> None:
    """``isinstance(x, torch.LongTensor)``."""
    if len(arguments.positional) != len(node.args) or len(node.args) != len(("object", "classes")):
        return
    (asked, value), (wanted_node, wanted) = arguments.positional
    device, kinds = _elsewhere(value), _items(wanted)
    if device is None or not kinds or not all(isinstance(each, Ref) and each.name in _CPU_TYPES for each in kinds):
        return
    if _knows_others(frame) or adds_nothing(frame, state, node) or only_copies(frame, state, node):
        return
    machine = frame.machine
    argument = device.name if device.origin is Origin.ARGUMENT else None
    if argument is not None and frame.function is not None and ast.dump(asked) in demanded(frame.function):
        return
    machine.record(
        ("never true", node),
        lambda: NeverTrue(
            machine.span_of(node),
            "instance",
            machine.text_of(asked),
            machine.text_of(wanted_node),
            where=device.describe(),
            surely=argument is None,
            asserted=node in asserted_in(frame.function or machine.tree),
        ),
        state,
        argument,
    )


def _note_asked(event: Asked) -> None:
    """``if torch.cuda.is_available:``, also under ``not``, ``and`` and ``or``; ``2 * torch.cuda.device_count``."""
    node, name, machine = event.node, event.value.name, event.frame.machine
    if name in QUESTIONS and node in branched_by(machine.reading.tree_here):
        if not only_tunes(event.frame, event.state, node, seeds=True):
            _record_uncalled(event.frame, event.state, node, "uncalled", name == "torch.cuda.is_available")
    elif name in COUNTS:
        _record_uncalled(event.frame, event.state, node, "uncounted")


def _record_uncalled(frame: Frame, state: State, node: ast.expr, kind: str, of_cuda: bool = False) -> None:
    machine, text = frame.machine, frame.machine.text_of(node)
    fact = partial(NeverTrue, machine.span_of(node), kind, text, f"{text}()", of_cuda=of_cuda)
    machine.record(("never true", node), fact, state)


def _note_called(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``x.is_cuda()`` of a tensor; a graph of PyTorch Geometric has a method of that name."""
    machine = frame.machine
    alone = isinstance(node.func, ast.Attribute) and is_told_alone(frame, node.func)
    if isinstance(receiver, Tensor) and not receiver.opaque and not node.args and not alone:
        at, asked = machine.span_of(node), machine.text_of(node.func)
        machine.record(
            ("never true", node),
            lambda: NeverTrue(at, "called", asked, machine.text_of(node), typed_at=machine.span_of(node.func)),
            state,
        )


EVENTS = {Compared: _note_comparison, Asked: _note_asked}
METHODS = {"is_cuda": _note_called}
FUNCTIONS = {"builtins.isinstance": _note_instance}


def check(fact: NeverTrue) -> Iterator[Report]:
    asked, wanted = code(fact.asked), code(fact.wanted)
    outcome = "always true" if fact.negated else "never true"
    raised = "AssertionError" if fact.asserted and not fact.negated else "no exception"
    if fact.kind == "string":
        yield Report(
            span=fact.at,
            message=f"{asked} is a `torch.device`, which equals no string: the test is {outcome}",
            symptom=f"{raised}: the test is {outcome}",
            help=f"compare {code(fact.asked + '.type')}, which is a string",
            fix=fix(
                Applicability.SAFE if fact.moves_alone else Applicability.UNSAFE,
                f"compare {code(fact.asked + '.type')}",
                None if fact.typed_at is None else added_after(fact.typed_at, ".type"),
            ),
            severity=Severity.WARNING if "cpu" in fact.wanted else None,
        )
    elif fact.kind == "number":
        yield Report(
            span=fact.at,
            message=f"{asked} has a number, such as `cuda:0`, which {wanted} has not: the test is {outcome}",
            symptom=f"{raised}: the test is {outcome}",
            help=f'compare {code(fact.asked + ".type")} with `"cuda"`',
        )
    elif fact.kind == "list":
        yield Report(
            span=fact.at,
            message=f"{asked} is a string here, which equals no list: the test is {outcome}",
            symptom=f"{raised}: the test is {outcome}",
            help=f"write {code(fact.asked + (' not in ' if fact.negated else ' in ') + fact.wanted)}",
        )
    elif fact.kind == "uncounted":
        yield Report(
            span=fact.at,
            message=f"{asked} is a function, which is no number, and is not called here",
            symptom="a TypeError, on every machine: a function cannot be calculated with",
            help=f"call it: {code(fact.asked + '()')}",
            fix=fix(Applicability.SAFE, "call it", added_after(fact.at, "()")),
        )
    elif fact.kind == "uncalled":
        yield Report(
            span=fact.at,
            message=f"{asked} is a function, which is always true, and is not called here",
            symptom="no exception here: the program goes on as if the answer were yes",
            help=f"call it: {code(fact.asked + '()')}",
            fix=fix(Applicability.SAFE, "call it", added_after(fact.at, "()")),
        )
    elif fact.kind == "called":
        yield Report(
            span=fact.at,
            message=f"{asked} is True or False, and no method that can be called",
            symptom="a TypeError, on every machine: True and False cannot be called",
            help=f"write {asked}",
            fix=fix(Applicability.SAFE, f"write {asked}", cut_after(fact.typed_at, fact.at) if fact.typed_at else None),
        )
    else:
        yield _about_types(fact, asked, wanted, outcome, raised)


def _about_types(fact: NeverTrue, asked: str, wanted: str, outcome: str, raised: str) -> Report:
    place = f", and {asked} is on {fact.where}" if fact.where else ""
    return Report(
        span=fact.at,
        message=f"{wanted} is a type of the CPU{place}: there the test is {outcome}",
        symptom=f"{raised}: on an accelerator the test is {outcome}",
        help="ask for the `dtype`, or for `torch.Tensor`",
        severity=None if fact.surely else Severity.WARNING,
    )
