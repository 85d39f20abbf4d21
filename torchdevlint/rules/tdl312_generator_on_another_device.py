"""A generator draws for tensors of another device than its own.

## What it does
Finds `generator=` where the generator surely belongs to another device than what it draws for: a `torch.Generator()`
without a device, which is one of the CPU, given to a factory with `device=`, to `normal_` and its kin of a tensor that
is on an accelerator, or to a function of `torch.nn.init` for one; and a generator of an accelerator, given to a factory
without `device=`, or to a loader or sampler, which draw on the CPU. The generator may be made in the same call, or be
bound to a name or an attribute of `self` once, or be None otherwise (`if seed is None:`). Of one that comes from
elsewhere it is found that a function draws by it for a device in one call, and without `device=` in another.

## Why is this bad?
A generator is the state of the random numbers of one device. A kernel refuses that of another:

    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'

Where `device` is the CPU both are the same, so that the program runs on every laptop.

## Example
```python
def noise(shape, seed, device):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device)
```

## Use instead
```python
def noise(shape, seed, device):
    generator = torch.Generator(device=device).manual_seed(seed)
    return torch.randn(shape, generator=generator, device=device)
```
For the same numbers on every device, draw on the CPU and move what was drawn:
`torch.randn(shape, generator=generator).to(device)`.

## Fix safety
Where a function draws by one generator for a device and without one, the fix adds `device=` there. It is unsafe, since
another device draws other numbers. There is no other fix: which of the two ways is meant, fast numbers or the same
numbers everywhere, is for the author to say.

## What it cannot see
Generators that are arguments, are bound on several paths, or come from another file, where all calls of the function
draw for one place; a list of generators.

## References
- [torch.Generator](https://docs.pytorch.org/docs/stable/generated/torch.Generator.html)
- [Reproducibility](https://docs.pytorch.org/docs/stable/notes/randomness.html)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.methods_run import reached_from
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.kinds.bound_once import bound_once, bound_or_none
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.scope.same_size import told_place
from torchdevlint.flow.scope.two_arms import is_chosen_between
from torchdevlint.flow.scope.uses import bindings_in
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import DEFAULT, MODEL, TOP, Device, Origin, Relation, on_cpu, relation
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State, only
from torchdevlint.flow.state.values import Ref, Tensor, Value
from torchdevlint.model import Applicability, Note, Report, Severity, Span
from torchdevlint.rules.edits import argument_added, fix
from torchdevlint.rules.wording import code, edit
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import keyword_of, nodes_in, own_nodes_in

SEVERITY = Severity.ERROR
EXECUTION = "exception"
PROBE = '''
"""A factory on a CUDA device refuses a generator of the CPU."""
import torch

NEEDS = "cuda"
RAISES = {"RuntimeError": ["Expected a 'cuda' device type for generator but found 'cpu'"]}


def flagged(device):
    return {"drawn": torch.randn(2, generator=torch.Generator(), device=device).numel()}


def repaired(device):
    return {"drawn": torch.randn(2, generator=torch.Generator(device), device=device).numel()}
'''


_MOST_NAMES = 4
"""So many names are followed from one to the next; a name may be bound to itself."""


class GeneratorElsewhere(Fact, frozen=True):
    """The call at `at` makes a generator of one device, which the call `draw` at `drawn_at` uses for another.

    `of` and `drawn_for` are the devices in words; `on_cpu` says that the generator is that of the CPU, and `named` that
    the call says so itself.
    """

    of: str
    on_cpu: bool
    named: bool
    draw: str
    drawn_at: Span
    drawn_for: str
    draws: str = ""
    """The text of the call at `at`, where it draws as well, by a generator from elsewhere, on the default device."""

    @property
    def rests_on_default(self) -> bool:
        return self.drawn_for == DEFAULT.describe() or not self.named


def _note_function(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.randn(.., generator=g, device=d)``, ``nn.init.normal_(w, generator=g)``."""
    drawn = given if isinstance(given, Tensor) else only(arguments.value(0, "tensor"), Tensor)
    if drawn is not None:
        _compare(frame, state, node, arguments, drawn.device)
        _compare_draws(frame, state, node, arguments, drawn)


def _note_method(frame: Frame, state: State, node: ast.Call, receiver: Value, arguments: Arguments) -> None:
    """``x.normal_(generator=g)``."""
    if isinstance(receiver, Tensor):
        _compare(frame, state, node, arguments, receiver.device)


def _note_sampler(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``DataLoader(data, generator=g)``: the order is drawn on the CPU."""
    _compare(frame, state, node, arguments, DEFAULT)


def _compare(frame: Frame, state: State, node: ast.Call, arguments: Arguments, drawn_for: Device) -> None:
    given = arguments.keywords.get("generator")
    made = None if given is None else _made_by(frame, state, given[0])
    if made is None or not frame.machine.default_is_cpu(state):
        return
    if drawn_for == MODEL and _runs_in_constructor(frame):
        return
    of = _device_of(frame, state, made)
    if relation(of, drawn_for) is not Relation.DIFFER:
        return
    machine = frame.machine
    machine.record(
        ("generator", made),
        lambda: GeneratorElsewhere(
            machine.span_of(made),
            of.describe(),
            on_cpu(of),
            bool(_named(made)),
            machine.text_of(node.func),
            machine.span_of(node),
            drawn_for.describe(),
        ),
        state,
        drawn_for.name if drawn_for.origin is Origin.ARGUMENT else None,
    )


def _compare_draws(frame: Frame, state: State, node: ast.Call, arguments: Arguments, drawn: Tensor) -> None:
    """``torch.rand(n, generator=g)``, where the function draws by `g` for a device as well."""
    given = arguments.keywords.get("generator")
    if given is None or frame.function is None or not on_cpu(drawn.device) or arguments.double_starred:
        return
    if keyword_of(node, "device") is not None or _made_by(frame, state, given[0]) is not None:
        return
    twin = _drawn_for_device(frame.function, node, dotted_path(given[0]))
    place = told_place(twin) if twin is not None else None
    if twin is None or place is None or not frame.machine.default_is_cpu(state):
        return
    machine = frame.machine
    machine.record(
        ("generator", node),
        lambda: GeneratorElsewhere(
            machine.span_of(node),
            code(machine.text_of(place)),
            False,
            True,
            machine.text_of(node.func),
            machine.span_of(twin),
            DEFAULT.describe(),
            draws=machine.text_of(node),
        ),
        state,
    )
    machine.explain(*(("mixed", site) for site in drawn.creations))


def _drawn_for_device(function: AnyFunction, node: ast.Call, name: str | None) -> ast.Call | None:
    """Another call of a function that draws by the generator of that name, for a device, wherever this one does."""
    times = sum(binds for _, binds, _ in bindings_in(function).get(name, ())) if name is not None else 0
    if name is None or times + (name in parameter_names(function)) > 1:
        return None
    for call in own_nodes_in(function, ast.Call):
        given = keyword_of(call, "generator")
        if call is not node and given is not None and dotted_path(given) == name and told_place(call) is not None:
            return None if is_chosen_between(function, node, call) else call
    return None


def _runs_in_constructor(frame: Frame) -> bool:
    """Whether this is `__init__`, or a method that it runs: then the Module has not been moved yet."""
    owner = frame.owner
    constructor = owner.all_methods.get("__init__", (None, None))[1] if owner is not None else None
    if owner is None or constructor is None:
        return False
    return frame.function is constructor or any(frame.function is each for each in reached_from(owner, constructor))


def _made_by(frame: Frame, state: State, node: ast.expr) -> ast.Call | None:
    """The call of ``torch.Generator`` that a value surely is from, be it bound to a name once."""
    for _ in range(_MOST_NAMES):
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "manual_seed":
            node = node.func.value
        if isinstance(node, ast.Call):
            return node if frame.evaluate(node.func, state) == Ref("torch.Generator") else None
        bound = bound_or_none(frame.function, node) or bound_once(frame, node)
        if bound is None:
            return None
        node = bound
    return None


def _device_of(frame: Frame, state: State, made: ast.Call) -> Device:
    """The device of a generator; one that is made elsewhere is asked for it only if it says so literally."""
    named = _named(made)
    if not named:
        return TOP if made.keywords else DEFAULT
    if isinstance(named[0], ast.Call) and frame.evaluate(named[0].func, state) == Ref("torch.get_default_device"):
        return DEFAULT
    here = made in nodes_in(frame.function or frame.machine.tree, ast.Call)
    if not here and not isinstance(named[0], ast.Constant):
        return TOP
    device = as_device(frame, named[0], frame.evaluate(named[0], state))
    return DEFAULT if on_cpu(device) else device


def _named(made: ast.Call) -> list[ast.expr]:
    """The device that a call of ``torch.Generator`` names, if it names one."""
    return [each.value for each in made.keywords if each.arg == "device"] or made.args[:1]


_DRAWN = ("rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson")
_INIT = """
    uniform_ normal_ trunc_normal_ xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_ orthogonal_ sparse_
    """.split()
_SAMPLERS = ("DataLoader", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "random_split")
FUNCTIONS = {
    **{f"torch.{name}": _note_function for name in _DRAWN},
    **{f"torch.nn.init.{name}": _note_function for name in _INIT},
    **{f"torch.utils.data.{name}": _note_sampler for name in _SAMPLERS},
}
METHODS = {name: _note_method for each in sorted(torch_api.DRAWING) for name in (each, f"{each}_")}


def check(fact: GeneratorElsewhere) -> Iterator[Report]:
    if fact.draws:
        told = f"device={fact.of.strip('`')}"
        yield Report(
            span=fact.at,
            message=f"the generator draws for {fact.of} too, and {code(fact.draw + '(..)')} draws for the CPU",
            symptom="RuntimeError: Expected a 'cpu' device type for generator but found 'cuda'",
            help=f"write {edit(told)}",
            notes=(Note(f"it draws for {fact.of} here", fact.drawn_at),),
            fix=fix(Applicability.UNSAFE, f"write {edit(told)}", argument_added(fact.draws, fact.at, told)),
        )
        return
    expected, found = ("cuda", "cpu") if fact.on_cpu else ("cpu", "cuda")
    of = fact.of
    if fact.on_cpu:
        of = "the CPU" if fact.named else "the CPU, since no device is named"
    drawn_for = fact.drawn_for if fact.on_cpu else "the CPU"
    yield Report(
        span=fact.at,
        message=f"a generator of {of}, by which {code(fact.draw + '(..)')} draws for {drawn_for}",
        symptom=f"RuntimeError: Expected a '{expected}' device type for generator but found '{found}'",
        help=(
            "make it with `device=`, for the device that is drawn for; or draw on the CPU and move the result"
            if fact.on_cpu
            else "make it without a device, or draw with `device=`"
        ),
        notes=(Note("it draws here", fact.drawn_at),),
    )
