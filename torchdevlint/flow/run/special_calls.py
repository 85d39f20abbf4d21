"""Library functions that need a transfer function of their own, by their public names."""

from __future__ import annotations

import ast
from collections.abc import Callable

from msgspec.structs import replace

from torchdevlint.flow.facts.tensors import ASSERTED
from torchdevlint.flow.kinds import ranks, start_method
from torchdevlint.flow.kinds.instance_tests import is_instance
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.run import collective_calls, distributions, figures, gradients, prepared
from torchdevlint.flow.run.arguments import as_device
from torchdevlint.flow.run.kernel_launches import launch_tiles
from torchdevlint.flow.run.moves import number_of_device
from torchdevlint.flow.run.operations import combine
from torchdevlint.flow.run.python_calls import iterate
from torchdevlint.flow.scope.names import dotted_path, parameter_names
from torchdevlint.flow.state import records
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.devices import MODEL, TOP, Device, Origin
from torchdevlint.flow.state.joins import distribute, element_of, join_all, sequence
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import as_output
from torchdevlint.flow.state.values import (
    AT_LEAST_1,
    DATASET_FILE,
    NONE,
    NUMBER,
    TEXT,
    UNKNOWN,
    Choice,
    Const,
    Dev,
    Guard,
    Library,
    Map,
    Number,
    Partial,
    Record,
    Ref,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.source.nodes import nodes_in


def _variable(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Variable(t)`` of old code gives the tensor itself."""
    data = arguments.value(0, "data")
    return Tensor(TOP, None, (), (Step("wrapped by `Variable`", node),)) if isinstance(data, Unknown) else data


def _parameter(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return _as_parameter(arguments.value(0, "data"), Step("a parameter, which moves with its Module", node))


def _as_parameter(data: Value, step: Step) -> Value:
    if isinstance(data, Choice):
        return distribute(data, lambda each: _as_parameter(each, step))
    if isinstance(data, Tensor):
        # What is made like a parameter of another module is none of that module.
        steps = data.steps if data.parameter else tuple(each for each in data.steps if not each.of_module)
        return Tensor(data.device, data.ndim, data.creations, (*steps, step), data.moved, True)
    return Tensor(TOP, None, (), (step,), parameter=True)


def _device(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Dev(TOP)
    device = as_device(frame, *arguments.positional[0])
    if len(arguments.positional) > 1 and device.origin is Origin.LITERAL:
        number = arguments.positional[1][1]
        index = number.value if isinstance(number, Const) and isinstance(number.value, int) else None
        return Dev(Device(Origin.LITERAL, device.name, index))
    return Dev(device)


def _checkpointed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional or arguments.starred:
        return UNKNOWN
    inner = Arguments(arguments.positional[1:], {})
    return frame.machine.call_value(frame, state, node, arguments.positional[0][1], inner)


def _packed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return arguments.value(0, "input")


def _unpacked(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return sequence([arguments.value(0, "sequence"), UNKNOWN])


def _padded(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """What is padded is copied into a tensor that is where the first one is, wherever the others are."""
    sequences = arguments.value(0, "sequences")
    first = sequences.items[0] if isinstance(sequences, Seq) and sequences.items else element_of(sequences)
    return replace(first, ndim=AT_LEAST_1) if isinstance(first, Tensor) else UNKNOWN


def _vector(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``parameters_to_vector(module.parameters())``: it is where the parameters are."""
    each = element_of(arguments.value(0, "parameters"))
    return Tensor(each.device, 1, (), each.steps) if isinstance(each, Tensor) else UNKNOWN


def _environment_get(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``os.environ.get("RANK")``."""
    return ranks.of_environment(node, arguments.value(0, "key"))


def _rank(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """The number of this process among all, or in a group of them; a group that is None at first may be set later."""
    group = arguments.get(0, "group")
    if group is None:
        return Number(node)
    given = frame.function is not None and dotted_path(group[0]) in parameter_names(frame.function)
    whole = given or isinstance(group[0], ast.Constant)
    return Number(node) if whole and group[1] == NONE else NUMBER


def _available(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Guard(True)


def _loader(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    data = [value for _, value in arguments.positional[:1]]
    data += [arguments.keywords[name][1] for name in ("dataset", "collate_fn") if name in arguments.keywords]
    return Library("torch.utils.data.DataLoader", children=tuple(data), made_at=node)


def _tensor_data(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Library("torch.utils.data.TensorDataset", children=tuple(arguments.values), made_at=node)


def _part_of_data(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``Subset(data, indices)`` and ``ConcatDataset([a, b])``: what they read of, they are."""
    data = arguments.value(0, "dataset") if arguments.positional else arguments.value(0, "datasets")
    children = (data,) if not isinstance(data, Seq) else data.items or (data.element,)
    return Library("torch.utils.data.Subset", children=children)


def _split_data(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Seq(None, Library("torch.utils.data.Subset", children=(arguments.value(0, "dataset"),)))


def _split_arrays(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``train_test_split(x, y)``: two parts of each, where it is, since they are taken by an index."""
    parts = [part for _, each in arguments.positional for part in (each, each)]
    return UNKNOWN if arguments.starred else sequence(parts)


def _hub_file(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """A file of a model hub; what lies in a dataset repository is data."""
    kind = arguments.keyword_values.get("repo_type")
    return DATASET_FILE if kind in (Const("dataset"), Const("space")) else TEXT


def _gradient_norm(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """The norm is where the gradients are; a model that is trained and was not made here is where models are."""
    part = element_of(arguments.value(0, "parameters"))
    device = part.device if isinstance(part, Tensor) else TOP
    models = (each.value for each in nodes_in(node, ast.Attribute) if each.attr in ("parameters", "named_parameters"))
    elsewhere = device == TOP or device.origin is Origin.ARGUMENT
    frame.machine.unseen += 1  # each was evaluated as an argument, in the arm of a choice that it stands in
    if elsewhere and all(_is_given(frame.evaluate(each, state)) for each in models):
        device = MODEL
    frame.machine.unseen -= 1
    return Tensor(device, 0, (), (Step("the norm of the gradients, which are where the model is", node),))


def _is_given(model: Value) -> bool:
    return isinstance(model, Unknown) or (isinstance(model, Library) and model.device is None)


def _number(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return NUMBER


def _first_argument(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return arguments.positional[0][1] if arguments.positional else UNKNOWN


def _as_typed(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``cast(torch.Tensor, x)`` gives `x` itself."""
    return arguments.value(1, "val")


def _prepared(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``model, optimizer = amp.initialize(model, optimizer)``: both as they came."""
    model = arguments.get(0, "models") or arguments.get(0, "model")
    return sequence([UNKNOWN if model is None else model[1], arguments.value(1, "optimizers")])


def _chained(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Seq(None, join_all([element_of(value) for value in arguments.values]))


def _current_device(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Dev(Device(Origin.LITERAL, "cuda"), number=True)


def _current_accelerator(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return Dev(Device(Origin.LITERAL, "cuda"))


def _device_context(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """A context manager, which is no device."""
    return Library("torch.cuda.device", made_at=node)


def _get_device(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    tensor = arguments.value(0, "input")
    return number_of_device(state, node, tensor) if isinstance(tensor, Tensor) else NUMBER


def _ordered_dict(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Map(tuple(arguments.keyword_values.items()), UNKNOWN, closed=True)
    pair = element_of(arguments.positional[0][1])
    return Map((), pair.items[1]) if isinstance(pair, Seq) and pair.items and len(pair.items) == 2 else UNKNOWN


def _default_dict(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``defaultdict(list)``: whatever is asked for is an empty list at first."""
    lists = arguments.values == [Ref("builtins.list")] and not arguments.keywords
    return Map((), Seq((), UNKNOWN), closed=True) if lists else UNKNOWN


def _partial(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    if not arguments.positional or arguments.starred or arguments.double_starred:
        return UNKNOWN
    (_, function), *positional = arguments.positional
    return Partial(function, tuple(positional), tuple(arguments.keywords.items()))


def _named_tuple(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    return records.named_tuple(arguments.values, arguments.keyword_values)


def _replaced(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    record = arguments.positional[0][1] if arguments.positional else UNKNOWN
    if not isinstance(record, Record) or arguments.double_starred:
        return UNKNOWN
    return Record(record.kind, tuple({**dict(record.items), **arguments.keyword_values}.items()))


def _as_dict(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    record = arguments.positional[0][1] if arguments.positional else UNKNOWN
    return Map(record.items, UNKNOWN, closed=True) if isinstance(record, Record) else UNKNOWN


def _is_tensor(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    answer = is_instance(arguments.value(0, "obj"), Ref("torch.Tensor"))
    return UNKNOWN if answer is None else Const(answer)


def _asserted_close(frame: Frame, state: State, node: ast.Call, arguments: Arguments) -> Value:
    """``torch.testing.assert_close(actual, expected)``, which holds the devices against each other as well."""
    sides = [arguments.get(0, "actual"), arguments.get(1, "expected")]
    if "check_device" not in arguments.keywords and not arguments.double_starred:
        operands = [(each[0], as_output(*each)) for each in sides if each is not None]
        combine(frame, state, node, ASSERTED, operands, True)
    return NONE


def _gives(value: Value) -> Callable[[Frame, State, ast.Call, Arguments], Value]:
    return lambda frame, state, node, arguments: value


SPECIAL: dict[str, Callable[[Frame, State, ast.Call, Arguments], Value]] = {
    **{name: _gives(value) for name, value in figures.GIVEN.items()},
    "torch.autograd.Variable": _variable,
    "torch.autograd.grad": gradients.grad,
    "torch.autograd.backward": gradients.backward,
    "torch.nn.Parameter": _parameter,
    "torch.nn.Buffer": _parameter,
    "torch.device": _device,
    "torch.cuda.is_available": _available,
    "torch.accelerator.is_available": _available,
    "torch.cuda.device_count": _number,
    "torch.cuda.current_device": _current_device,
    "torch.cuda.device": _device_context,
    "torch.get_device": _get_device,
    "torch.accelerator.current_accelerator": _current_accelerator,
    "torch.utils.checkpoint.checkpoint": _checkpointed,
    "torch.nn.utils.parameters_to_vector": _vector,
    "torch.nn.utils.convert_parameters.parameters_to_vector": _vector,
    "torch.nn.utils.rnn.pack_padded_sequence": _packed,
    "torch.nn.utils.rnn.pad_packed_sequence": _unpacked,
    "torch.nn.utils.rnn.pad_sequence": _padded,
    "torch.nn.utils.clip_grad_norm_": _gradient_norm,
    "torch.nn.utils.clip_grad.clip_grad_norm_": _gradient_norm,
    "torch.is_tensor": _is_tensor,
    "cuda.tile.launch": launch_tiles,
    "torch.testing.assert_close": _asserted_close,
    "torch.testing.assert_allclose": _asserted_close,
    "torch.distributed.get_rank": _rank,
    "torch.distributed.distributed_c10d.get_rank": _rank,
    "os.environ.get": _environment_get,
    "os.getenv": _environment_get,
    "torch.utils.data.DataLoader": _loader,
    "torch.utils.data.TensorDataset": _tensor_data,
    "torch.utils.data.Subset": _part_of_data,
    "torch.utils.data.ConcatDataset": _part_of_data,
    "torch.utils.data.random_split": _split_data,
    "torch.utils.data.dataloader.DataLoader": _loader,
    "huggingface_hub.hf_hub_download": _hub_file,
    "sklearn.model_selection.train_test_split": _split_arrays,
    "collections.OrderedDict": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "torch.distributions.kl_divergence": distributions.divergence,
    "torch.distributions.kl.kl_divergence": distributions.divergence,
    "pyro.sample": distributions.sample,
    "collections.namedtuple": _named_tuple,
    "dataclasses.replace": _replaced,
    "dataclasses.asdict": _as_dict,
    "functools.partial": _partial,
    "itertools.chain": _chained,
    "itertools.cycle": iterate,
    "apex.amp.initialize": _prepared,
    "deepspeed.initialize": prepared.initialize_deepspeed,
    "accelerate.Accelerator": prepared.make_accelerator,
    "accelerate.accelerator.Accelerator": prepared.make_accelerator,
    **collective_calls.CALLS,
    **start_method.MAKERS,
    **dict.fromkeys(torch_api.GIVE_FIRST_ARGUMENT, _first_argument),
    "typing.cast": _as_typed,
    "typing_extensions.cast": _as_typed,
    "torch.jit.annotate": _as_typed,
}
