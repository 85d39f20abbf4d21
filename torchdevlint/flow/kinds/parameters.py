"""What a parameter is when nobody has called the function: by annotation, default, and usage."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable

from torchdevlint.flow.kinds import loaders
from torchdevlint.flow.kinds.annotated import is_annotated_tensor_class, is_of_another_framework
from torchdevlint.flow.kinds.autograd_functions import gives_host_data, is_autograd, is_gradient
from torchdevlint.flow.kinds.by_default import left_to_default
from torchdevlint.flow.kinds.given_models import moved_model
from torchdevlint.flow.kinds.known_devices import ACCELERATOR, ACCELERATORS
from torchdevlint.flow.kinds.sizes import is_number_by_use
from torchdevlint.flow.kinds.targets import target_beside
from torchdevlint.flow.kinds.tensor_uses import is_tensor_by_use
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.scope.annotations import (
    annotated_tensor,
    annotation_name,
    contained_tensor,
    element_annotation,
    named_in,
    names_parameter,
    tuple_parts,
    without_none,
)
from torchdevlint.flow.scope.brought_reads import brought_by_another
from torchdevlint.flow.scope.followed_devices import is_for_numpy
from torchdevlint.flow.scope.handed_functions import is_handed_with_device
from torchdevlint.flow.scope.names import (
    defaults,
    is_one_of,
    last_name,
    mentions_device,
    parameter_names,
    positional_names,
)
from torchdevlint.flow.scope.none_tests import is_made_for_none
from torchdevlint.flow.scope.uses import Uses, bindings_in, uses_in
from torchdevlint.flow.state.classes import ClassInfo, is_module_class
from torchdevlint.flow.state.devices import CPU, DEFAULT, MODEL, TOP, Device, Origin
from torchdevlint.flow.state.entries import Entry
from torchdevlint.flow.state.joins import sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.records import by_annotation, kept_by_annotation
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    NONE,
    NUMBER,
    NUMBERS,
    TEXT,
    UNKNOWN,
    Choice,
    Cls,
    Dev,
    Guard,
    Library,
    Map,
    Obj,
    Ref,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex
from torchdevlint.source.functions import AnyFunction
from torchdevlint.source.nodes import nodes_in

_OF_DATA_SETS = regex(r"data|dset|batch|sample|example|item|record|instance|loader|corpus|field", re.IGNORECASE)
"""Names of arguments that are, or come from, a data set, whose tensors are on the CPU."""
_INITIALISERS = frozenset({"init_weights", "init_weight", "init_params", "init_parameters", "reset_parameters"})
"""Functions that fill the parameters of a module while it is built, before anything moves."""
_NUMBER_ANNOTATIONS = frozenset({"int", "float", "bool"})
_PLAIN: dict[str, Value] = {"str": TEXT, **dict.fromkeys(_NUMBER_ANNOTATIONS, NUMBER)}
"""What annotations say that name types of Python itself."""


def symbolic_parameters(frame: Frame, function: AnyFunction, entry: Entry, receiver: Value | None) -> dict[str, Value]:
    """A value for each parameter of a function that is looked at on its own.

    Tensors that `forward` gets, and methods that it reaches, are taken to be where the model is; those of other
    functions are where their argument is, which the function cannot know. Hooks of a Trainer, which is no Module, get
    the model first.
    """
    spec = function.args
    parameters = [*spec.posonlyargs, *spec.args]
    values: dict[str, Value] = {}
    if receiver is not None and parameters:
        values[parameters.pop(0).arg] = receiver
    if entry.kind == "forward" and entry.owner is not None and not entry.owner.is_module and parameters:
        values[parameters.pop(0).arg] = Library("", module=True, device=MODEL)
    by_default = dict(defaults(function))
    for parameter in (*parameters, *spec.kwonlyargs):
        values[parameter.arg] = _symbolic(frame, function, parameter, by_default.get(parameter.arg), entry)
    if spec.vararg is not None:
        values[spec.vararg.arg] = Seq(None, _symbolic(frame, function, spec.vararg, None, entry))
    if spec.kwarg is not None:
        tensors = annotated_tensor(spec.kwarg.annotation)
        values[spec.kwarg.arg] = Map((), _tensor(frame, spec.kwarg, entry) if tensors else UNKNOWN)
    return values


def _symbolic(frame: Frame, function: AnyFunction, parameter: ast.arg, default: ast.expr | None, entry: Entry) -> Value:
    if is_of_another_framework(frame, parameter.annotation):
        return UNKNOWN
    name = parameter.arg
    uses = uses_in(function).get(name) or Uses()
    made = left_to_default(frame, default)
    value = _kind(frame, function, parameter, default, made, entry, uses)
    if isinstance(made, Tensor) and made.device == DEFAULT and made.creations:
        return Choice((((), made), ((), value))) if made != value else value
    optional = (isinstance(default, ast.Constant) and default.value is None) or uses.none_tested
    return Choice((((), NONE), ((), value))) if optional and value != NONE else value


def _kind(
    frame: Frame,
    function: AnyFunction,
    parameter: ast.arg,
    default: ast.expr | None,
    made: Value,
    entry: Entry,
    uses: Uses,
) -> Value:
    """What a parameter is, of which its default has `made` something."""
    name = parameter.arg
    target = target_beside(frame, function, parameter) if entry.kind in ("function", "method") else None
    annotated = target or _by_annotation(frame, parameter, entry)
    if annotated is not None:
        return annotated
    if mentions_device(name) and not uses.is_tensor:
        return Dev(Device(Origin.EXPRESSION, name))
    if _are_outputs(function, name, entry):
        return Seq(None, Unknown(given=MODEL))
    if isinstance(made, (Guard, Dev)):
        return made
    if isinstance(default, ast.Constant) and isinstance(default.value, (int, float, str)):
        return UNKNOWN
    if uses.is_module and not uses.is_tensor:
        return Library("", module=True)
    if parameter.annotation is None and is_tensor_by_use(frame, function, name, entry.owner):
        return _tensor(frame, parameter, entry)
    if is_autograd(frame, entry) and (uses.attributes & {"new", "numpy"} or is_gradient(function, name)):
        return _tensor(frame, parameter, entry)
    if "numpy" in uses.attributes and entry.kind == "function" and is_for_numpy(function):
        return _tensor(frame, parameter, entry)
    if default is not None and not (isinstance(default, ast.Constant) and default.value is None):
        return made if isinstance(made, Ref) else UNKNOWN
    if default is not None and parameter.annotation is None:
        return UNKNOWN
    place = _place(frame, name)
    if parameter.annotation is not None and not _may_hold_tensors(frame, parameter.annotation, place):
        return UNKNOWN
    if is_number_by_use(frame, uses):
        return UNKNOWN
    of_data = place.origin is Origin.ARGUMENT and _OF_DATA_SETS.search(name)
    return (loaders.part_moved(frame, function, parameter) or UNKNOWN) if of_data else Unknown(given=place)


def _are_outputs(function: AnyFunction, name: str, entry: Entry) -> bool:
    """Whether it is what Lightning before 2.0 gives at the end of an epoch: all that steps returned, where it is."""
    step = _STEPS.get(getattr(function, "name", ""))
    if step is None or entry.owner is None or name not in positional_names(function)[1:2]:
        return False
    method = entry.owner.all_methods.get(step, (None, None))[1]
    if method is None or not any(base.endswith(".LightningModule") for base in entry.owner.library_bases):
        return False
    return _TO_THE_HOST.isdisjoint(last_name(call.func) for call in nodes_in(method, ast.Call))


_STEPS = {f"{kind}_epoch_end": f"{kind}_step" for kind in ("training", "validation", "test", "predict")}
_TO_THE_HOST = frozenset({"cpu", "numpy", "item", "tolist", "to"})


def _by_annotation(frame: Frame, parameter: ast.arg, entry: Entry) -> Value | None:
    """What the annotation says, if it says something that matters."""
    annotation = parameter.annotation
    if annotation is None:
        return None
    name = annotation_name(annotation)
    if name in _PLAIN:
        return _PLAIN[name]
    if name == "device":
        return Dev(Device(Origin.EXPRESSION, parameter.arg))
    if annotated_tensor(annotation):
        return _tensor(frame, parameter, entry)
    held = _held_tensors(frame, annotation, lambda: _tensor(frame, parameter, entry))
    if held is not None:
        return held
    loader = loaders.by_annotation(frame, annotation)
    if loader is not None:
        return loader
    inside = element_annotation(annotation)
    if annotation_name(inside) in _NUMBER_ANNOTATIONS:
        return NUMBERS
    named = frame.evaluate(inside or annotation, State({}))
    if is_annotated_tensor_class(frame, annotation):
        return _tensor(frame, parameter, entry)
    if isinstance(named, Cls) and inside is None:
        return _of_class(frame, parameter, entry, named.info)
    if not isinstance(named, Ref) or named.name in ACCELERATORS:
        return Unknown(made_by=ACCELERATOR) if isinstance(named, Ref) else None
    if inside is not None:
        return Seq(None, Library(named.name, True)) if is_module_class(named.name) else None
    if is_module_class(named.name):  # a loss, unlike a model, has no parameters
        return Library(named.name if named.name.endswith("Loss") else "", module=True)
    in_place = is_one_of(named.name, frame.machine.settings.in_place_movers) or libraries.moves_in_place(named.name)
    return Library(named.name) if in_place else None


def _of_class(frame: Frame, parameter: ast.arg, entry: Entry, info: ClassInfo) -> Value | None:
    """What an annotation says that names a class of the project."""
    if info.is_module:
        return moved_model(frame, parameter, info)
    tensor = _tensor(frame, parameter, entry)
    if info.record is not None:
        return by_annotation(info.record, tensor.device, tensor.steps[0])
    return kept_by_annotation(info, tensor.device, tensor.steps[0]) or _instance(info)


def _instance(info: ClassInfo) -> Value | None:
    """An instance of a plain class, made anywhere: of its attributes is known what any arguments leave there."""
    return Obj(info, TOP, given=()) if info.resolved and not info.is_module else None


def _held_tensors(frame: Frame, annotation: ast.expr | None, tensor: Callable[[], Tensor]) -> Value | None:
    """What an annotation says that holds tensors: a list or mapping of them, a tuple with some; else None."""
    contained = contained_tensor(annotation)
    if contained is not None:
        return Map((), tensor()) if contained == "dict" else Seq(None, tensor())
    parts = tuple_parts(annotation)
    if not any(map(annotated_tensor, (name for part in parts for name in named_in(part)))):
        return None
    return sequence([_part(frame, each, tensor) for each in parts])


def _part(frame: Frame, annotation: ast.expr, tensor: Callable[[], Tensor]) -> Value:
    if annotated_tensor(annotation):
        return tensor()
    name = annotation_name(annotation)
    if name in _PLAIN:
        return _PLAIN[name]
    held = _held_tensors(frame, annotation, tensor)
    kind = frame.evaluate(annotation, State({})) if held is None else UNKNOWN
    return Library(kind.info.name) if isinstance(kind, Cls) else held or UNKNOWN


def _may_hold_tensors(frame: Frame, annotation: ast.expr, place: Device) -> bool:
    """Whether an annotation names tensors, or classes of other files that may hold some.

    A container of which nothing more is said may hold them as well: ``tuple``, ``List``. What is named after a data
    set holds tensors of the CPU, but not as an input of a Module: a ``Batch`` was moved to where that is.
    """
    if annotation_name(without_none(annotation)) in _CONTAINERS:
        return True
    names = named_in(annotation)
    words = [annotation_name(each) for each in names]
    if any(each in _NO_TENSORS for each in words) or (place != MODEL and any(map(_OF_DATA_SETS.search, words))):
        return False
    values = [frame.evaluate(each, State({})) for each in names]
    known = [each.name.partition(".")[0] for each in values if isinstance(each, Ref)]
    return any(map(annotated_tensor, names)) or any(each not in _HOLD_NO_TENSORS for each in known)


_CONTAINERS = frozenset({"tuple", "Tuple", "list", "List", "dict", "Dict", "Sequence", "Mapping", "Iterable", "Any"})
_NO_TENSORS = _NUMBER_ANNOTATIONS | {"ndarray", "array", "ArrayLike", "DataFrame", "Image"}
_HOLD_NO_TENSORS = sys.stdlib_module_names | {"torch", "builtins", "numpy", "pandas", "PIL", "typing_extensions"}
"""Libraries whose classes hold none, besides torch's own, which are told by their names."""


def _tensor(frame: Frame, parameter: ast.arg, entry: Entry) -> Tensor:
    step = Step(f"argument `{parameter.arg}` of `{entry.name}`", parameter)
    uses = uses_in(frame.function).get(parameter.arg) if frame.function is not None else None
    ndim = AT_LEAST_1 if uses and uses.has_dimensions else None
    return Tensor(_place(frame, parameter.arg), ndim, (), (step,), parameter=names_parameter(parameter.annotation))


def place_of_argument(frame: Frame, name: str, line: int | None = None) -> Device:
    """Where a tensor is that `name` holds, if that is an argument of what was entered, as it came; else TOP.

    With a line, it counts as it came if nothing binds it before that.
    """
    function = frame.function
    if function is None or frame.depth or name not in parameter_names(function):
        return TOP
    places = bindings_in(function).get(name, ())
    bound = any(is_bound and (line is None or at < line) for at, is_bound, _ in places)
    return TOP if bound else _place(frame, name)


def _place(frame: Frame, name: str) -> Device:
    function, kind = frame.function, frame.entry.kind
    if function is None:
        return Device(Origin.ARGUMENT, name)
    if frame.machine.observed.get((function, name)) or _is_left_out(frame, function, name):
        return TOP
    if function in frame.machine.pipeline:
        return CPU
    if name in torch_api.KEPT_ON_HOST or (is_gradient(function, name) and gives_host_data(frame.entry.owner)):
        return TOP
    if kind == "forward" or is_autograd(frame, frame.entry):
        return MODEL
    if getattr(function, "name", "").lstrip("_") in _INITIALISERS:
        return TOP
    if kind == "function" and is_for_numpy(function) and not _is_told_elsewhere(frame, function, name):
        frame.machine.arrivals.read_on_host.setdefault((function, name), set()).add(function)
        return TOP
    is_test = _is_test_case(frame.entry.owner) or _is_run_by_pytest(frame, function)
    return TOP if is_test else Device(Origin.ARGUMENT, name)


def _is_left_out(frame: Frame, function: AnyFunction, name: str) -> bool:
    """Whether the file calls a function, each time without a parameter for which it makes something itself then."""
    return not frame.machine.arrivals.given.get((function, name), True) and is_made_for_none(function, name)


def _is_told_elsewhere(frame: Frame, function: AnyFunction, name: str) -> bool:
    """Whether the file brings an argument of that name to the CPU elsewhere, or hands the function on with a device."""
    handed = is_handed_with_device(frame.machine.tree, getattr(function, "name", ""))
    return handed or brought_by_another(frame.machine.tree, function, name) is not None


def _is_run_by_pytest(frame: Frame, function: AnyFunction) -> bool:
    """Whether pytest calls a function, whose arguments are what fixtures and parameters of the tests make."""
    return getattr(function, "name", "").startswith("test_") and "pytest" in frame.machine.words


def _is_test_case(owner: ClassInfo | None) -> bool:
    """Whether a class is a test case, whose methods get what its own tests make."""
    return owner is not None and any(name.endswith("TestCase") for name in owner.base_names)


def came_as_argument(frame: Frame, value: Tensor) -> bool:
    """Whether a tensor is where an argument of what was entered is, be that an input of a `torch.autograd.Function`.

    No Module moves such an input: whoever calls the Function places it.
    """
    return value.device.origin is Origin.ARGUMENT or (is_input(value) and is_autograd(frame, frame.entry))


def is_input(value: Tensor) -> bool:
    """Whether a tensor begins as an argument of what was entered, or as a part of one."""
    return bool(value.steps) and (value.steps[0].of_input or isinstance(value.steps[0].node, ast.arg))
