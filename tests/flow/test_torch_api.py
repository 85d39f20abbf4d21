"""The tables of torch's API against the installed torch, by introspection: what is missing, gone, or has changed.

Exceptions are listed here with their reason. An entry that no longer is an exception fails too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest

from torchdevlint.flow.knowledge import torch_api

torch = pytest.importorskip("torch", reason="the tables are compared with the installed torch")
nn, functional = torch.nn, torch.nn.functional

if tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2]) < (2, 13):
    pytest.skip("the tables are those of torch 2.13, which has more than this release", allow_module_level=True)

TORCH = torch_api.TORCH_TENSOR | torch_api.TORCH_TUPLE | torch_api.TORCH_LIST | torch_api.TORCH_PLAIN
METHODS = torch_api.METHOD_TENSOR | torch_api.METHOD_TUPLE | torch_api.METHOD_LIST | torch_api.METHOD_PLAIN
FUNCTIONAL = torch_api.FUNCTIONAL_TENSOR | torch_api.FUNCTIONAL_TUPLE
LINALG = torch_api.LINALG_TENSOR | torch_api.LINALG_TUPLE
OPERATIONS = TORCH | METHODS | FUNCTIONAL | LINALG
FACTORIES = torch_api.FACTORIES | torch_api.LIKE_FACTORIES
EVIDENCE = torch_api.TENSOR_ONLY_ATTRIBUTES | torch_api.TENSOR_ONLY_METHODS

BACKENDS = re.compile(r"(cudnn|miopen|mkldnn|fbgemm|quantized|native|fused|batch_norm)_\w+|\w+_copy")
"""Kernels of single backends and functional variants of views, which nobody calls by hand."""
UNLISTED_FUNCTIONS = {
    "gru lstm rnn_relu rnn_tanh": "what the layers of torch.nn call",
    "gru_cell lstm_cell rnn_relu_cell rnn_tanh_cell": "what the cells of torch.nn call",
    "histogramdd": "gives a tensor and a list of tensors",
    "hspmm smm sspaddmm": "products of sparse matrices, which are CPU code",
}
UNLISTED_METHODS = {
    "apply_ map_ map2_": "call Python for each element, on the CPU only",
    "as_subclass module_load": "change the class",
    "eig lstsq lu reinforce solve symeig": "removed from torch: they raise",
    "unique": "gives a tensor or several",
    "narrow_copy": "a functional variant of a view",
    "type": "a move, or the name of the type",
    "backward record_stream register_hook register_post_accumulate_grad_hook retain_grad": "give no value",
    "const_data_ptr data_ptr dim_order is_shared ndimension nelement numpy tolist": "give numbers",
    "storage storage_type untyped_storage": "give storages",
}
NOT_OPERANDS = {
    "bernoulli": "probabilities are moved to the tensor's device",
    "ctc_loss": "targets and lengths may be on the CPU",
    "empty_quantized": "a factory",
    "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine quantize_per_channel quantize_per_tensor": (
        "scales and zero points come with a quantised model"
    ),
    "fractional_max_pool2d fractional_max_pool3d": "random samples are for tests of torch",
    "fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices": "the same",
    "index index_put": "CPU indices are right",
    "is_set_to": "compares storages, wherever they are",
    "linspace logspace narrow randint_like": "0-dim tensors in the place of numbers",
    "matrix_rank pinv": "tolerances, or numbers",
    "multi_head_attention_forward": "what the layer calls",
    "normal": "a factory with a transfer function of its own",
    "normalize": "`out=`",
    "resize_as resize_as_sparse_ slice_inverse": "only the shape of the other is read",
    "sparse_bsc_tensor sparse_bsr_tensor sparse_csc_tensor sparse_csr_tensor": "factories",
    "sparse_compressed_tensor sparse_coo_tensor": "factories",
    "scaled_grouped_mm scaled_mm": "float8 is multiplied on accelerators only",
    "triplet_margin_with_distance_loss": "a function decides",
}
"""Operations with a tensor argument that is not an operand, and why."""


def names(exceptions: Iterable[str]) -> set[str]:
    return {name for group in exceptions for name in group.split()}


@cache
def schemas() -> dict[str, list[Any]]:
    """The operator schemas by name, without the variants that write to ``out=``."""
    found: dict[str, list[Any]] = defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        if space == "aten" and not any(argument.is_out for argument in schema.arguments):
            found[name].append(schema)
    return found


def returns(schema: Any) -> tuple[str, ...]:
    return tuple(str(value.type) for value in schema.returns)


def gives(name: str) -> set[tuple[str, ...]]:
    """What the overloads of an operator return, by the names of the types."""
    return {returns(schema) for schema in schemas().get(name, [])}


def functions(space: Any) -> list[str]:
    """The public functions of a namespace, without classes and modules."""
    return [
        name
        for name in dir(space)
        if not name.startswith("_")
        and callable(getattr(space, name))
        and not isinstance(getattr(space, name), type)
        and not inspect.ismodule(getattr(space, name))
    ]


def resolve(name: str) -> Any:
    """The object with a dotted name, importing what has to be imported."""
    head, _, tail = name.rpartition(".")
    if not head:
        return importlib.import_module(name)
    try:
        return getattr(importlib.import_module(head), tail)
    except ModuleNotFoundError:
        return getattr(resolve(head), tail)


def listed(name: str, table: Iterable[str]) -> bool:
    """Whether a name, or its plain form if it works in place, is in a table."""
    return name in table or (name.endswith("_") and name[:-1] in table)


def parameters(function: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(function).parameters)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "space"),
    [
        (TORCH | torch_api.FACTORIES | torch_api.LIKE_FACTORIES | torch_api.LEGACY_CONSTRUCTORS, torch),
        (METHODS | torch_api.NEW_METHODS | torch_api.DTYPE_METHODS, torch.Tensor),
        (torch_api.TENSOR_ATTRIBUTES | torch_api.SHAPE_ATTRIBUTES | EVIDENCE, torch.Tensor),
        (FUNCTIONAL, functional),
        (LINALG, torch.linalg),
        (torch_api.FFT_TENSOR, torch.fft),
        (torch_api.PARAMETER_FREE_MODULES | torch_api.PARAMETER_MODULES | torch_api.CONTAINER_MODULES, nn),
    ],
    ids=["torch", "methods", "attributes", "functional", "linalg", "fft", "nn"],
)
def test_every_listed_name_is_there(table: frozenset[str], space: Any) -> None:
    assert [name for name in sorted(table) if not hasattr(space, name)] == []


@pytest.mark.parametrize(
    "name",
    sorted(
        name
        for name in (
            torch_api.FREEZES_VISIBLE_DEVICES
            | torch_api.INITIALISES_CUDA
            | torch_api.NAMESPACED_FACTORIES
            | torch_api.TENSOR_CLASSES
            | set(torch_api.WRAPPER_MODULES)
            | set(torch_api.LOADERS)
        )
        if name.startswith("torch.")
    ),
)
def test_every_dotted_name_is_there(name: str) -> None:
    assert callable(resolve(name))


def test_the_tables_of_one_namespace_do_not_overlap() -> None:
    for tables in (
        [torch_api.TORCH_TENSOR, torch_api.TORCH_TUPLE, torch_api.TORCH_LIST, torch_api.TORCH_PLAIN],
        [torch_api.METHOD_TENSOR, torch_api.METHOD_TUPLE, torch_api.METHOD_LIST, torch_api.METHOD_PLAIN],
        [torch_api.FUNCTIONAL_TENSOR, torch_api.FUNCTIONAL_TUPLE],
        [torch_api.LINALG_TENSOR, torch_api.LINALG_TUPLE],
        [torch_api.PARAMETER_FREE_MODULES, torch_api.PARAMETER_MODULES, torch_api.CONTAINER_MODULES],
        [torch_api.PAIR_WITH_DIM, torch_api.METHOD_TUPLE],
        [torch_api.MAYBE_SCALAR, torch_api.REDUCTIONS, torch_api.SAME_NUMBER_OF_DIMS],
    ):
        together = [name for table in tables for name in table]
        assert len(together) == len(set(together)), sorted({name for name in together if together.count(name) > 1})


def test_in_place_forms_are_listed_by_their_plain_name() -> None:
    assert [name for name in TORCH if name.endswith("_") and name[:-1] in TORCH] == []
    assert [name for name in METHODS if name.endswith("_") and name[:-1] in METHODS] == []


@pytest.mark.parametrize(
    "table",
    "STRICT CROSSING REDUCTIONS MAYBE_SCALAR SAME_NUMBER_OF_DIMS PAIR_WITH_DIM ANY_NUMBER COMPARING OPERANDS".split(),
)
def test_what_is_said_of_operations_is_said_of_listed_ones(table: str) -> None:
    elsewhere = torch_api.SCATTER_TENSOR | {"type", "register_hook", "pack_padded_sequence", "is_tensor"}
    others = {"promote_types", "sspaddmm", "smm"}
    said = set(getattr(torch_api, table))
    assert sorted(name for name in said - elsewhere - others if not listed(name, OPERATIONS)) == []


# --- functions ------------------------------------------------------------------------------------------------------


def test_every_function_that_takes_a_device_is_a_factory() -> None:
    takes = {
        name
        for name in functions(torch)
        if any(argument.name == "device" for schema in schemas().get(name, []) for argument in schema.arguments)
        or re.search(r"\bdevice \(:class:`torch\.device`", getattr(torch, name).__doc__ or "")
    }
    assert takes - FACTORIES == set()
    assert FACTORIES - takes == {"from_numpy", "frombuffer"}, "they take data on the CPU, and no device"


def test_every_function_that_gives_tensors_is_listed() -> None:
    expected = {name for name in functions(torch) if any("Tensor" in each for given in gives(name) for each in given)}
    missing = {name for name in expected if not listed(name, TORCH) and not BACKENDS.fullmatch(name)}
    assert missing == names(UNLISTED_FUNCTIONS)


def test_every_function_that_can_be_overridden_is_listed() -> None:
    """What `__torch_function__` sees takes tensors: also functions that are written in Python and have no schema."""
    from torch.overrides import get_overridable_functions

    seen = {function.__name__ for function in get_overridable_functions()[torch]}
    public = {name for name in seen if not name.startswith("_") and hasattr(torch, name)}
    missing = {name for name in public if not listed(name, TORCH) and not BACKENDS.fullmatch(name)}
    symbolic = {name for name in missing if name.startswith("sym_")}
    sparse = {"dsmm", "hsmm", "saddmm", "spmm"}
    assert missing - symbolic - sparse - {"autocast"} - names(UNLISTED_FUNCTIONS) == set()


def test_every_method_is_listed() -> None:
    public = {name for name in dir(torch.Tensor) if not name.startswith("_") and callable(getattr(torch.Tensor, name))}
    known = METHODS | torch_api.NEW_METHODS | set(torch_api.DEVICE_METHODS)
    missing = {name for name in public if not listed(name, known)}
    assert missing == names(UNLISTED_METHODS)


def test_every_function_of_functional_is_listed() -> None:
    own = {name for name in functions(functional) if getattr(functional, name).__module__ != "torch.overrides"}
    helpers = {"assert_int_or_pair", "boolean_dispatch", "native_channel_shuffle"}
    helpers |= {name for name in own if name.startswith("has_torch_function") or name == "Optional"}
    assert {name for name in own if not listed(name, FUNCTIONAL)} == helpers


def test_every_function_of_linalg_and_fft_is_listed() -> None:
    assert set(functions(torch.linalg)) == LINALG
    frequencies = {"fftfreq", "rfftfreq"}
    assert set(functions(torch.fft)) - torch_api.FFT_TENSOR == frequencies
    assert {f"torch.fft.{name}" for name in frequencies} <= torch_api.NAMESPACED_FACTORIES


@pytest.mark.parametrize(("space", "prefix"), [(torch, "TORCH"), (torch.Tensor, "METHOD")], ids=["torch", "methods"])
def test_tables_say_what_schemas_return(space: Any, prefix: str) -> None:
    """One tensor in some overload; several in all of them; a list; or none at all."""
    tensor, pair, many, plain = (
        getattr(torch_api, f"{prefix}_{kind}") for kind in ("TENSOR", "TUPLE", "LIST", "PLAIN")
    )
    for name in sorted(tensor | pair | many | plain):
        given = gives(name)
        if not given:
            continue
        if name in tensor:
            assert ("Tensor",) in given, name
        elif name in pair:
            assert any(len(each) > 1 and set(each) == {"Tensor"} for each in given), name
            assert ("Tensor",) not in given, name
        elif name in many:
            assert ("List[Tensor]",) in given, name
        else:
            assert not any("Tensor" in each for row in given for each in row), name


def test_what_tensors_have() -> None:
    assert all(torch_api.is_of_tensors(name) for name in dir(torch.Tensor))
    assert not any(torch_api.is_of_tensors(name) for name in "parameters attach astype tensors batch_sizes".split())


def test_pairs_with_a_dimension_are_those_with_both_overloads() -> None:
    both = {
        name
        for name in torch_api.METHOD_TENSOR | torch_api.TORCH_TENSOR
        if ("Tensor", "Tensor") in gives(name) and ("Tensor",) in gives(name)
    }
    assert both == torch_api.PAIR_WITH_DIM


def test_like_new_and_random_factories_are_all_there() -> None:
    assert {name for name in functions(torch) if name.endswith("_like")} == torch_api.LIKE_FACTORIES
    assert {name for name in dir(torch.Tensor) if name.startswith("new")} == torch_api.NEW_METHODS
    drawn = {
        name
        for name in torch_api.FACTORIES
        if any(argument.name == "generator" for schema in schemas()[name] for argument in schema.arguments)
    }
    assert drawn == torch_api.RANDOM_FACTORIES


@pytest.mark.parametrize("name", sorted(torch_api.NAMESPACED_FACTORIES))
def test_factories_of_other_namespaces_take_a_device(name: str) -> None:
    function = resolve(name)
    try:
        assert "device" in parameters(function)
    except ValueError:
        assert "device (:class:`torch.device`" in function.__doc__


@pytest.mark.parametrize("name", sorted(name for name in torch_api.LOADERS if name.startswith("torch.")))
def test_loaders_take_a_map_location_where_it_is_said(name: str) -> None:
    assert parameters(resolve(name)).index("map_location") == torch_api.LOADERS[name]


def test_dtype_methods_are_the_names_of_dtypes() -> None:
    shared = {
        name
        for name in dir(torch.Tensor)
        if isinstance(getattr(torch, name, None), torch.dtype) or name in ("byte", "char")
    }
    assert {name for name in shared if callable(getattr(torch.Tensor, name))} == torch_api.DTYPE_METHODS


# --- operands -------------------------------------------------------------------------------------------------------


def tensor_arguments(name: str) -> tuple[set[int], set[str]]:
    """The positions and the names of the arguments of an operation that may be tensors, in any namespace."""
    positions: set[int] = set()
    keywords: set[str] = set()
    linalg = schemas().get(f"linalg_{name}", []) if name in LINALG else []
    for schema in [*schemas().get(name, []), *schemas().get(f"{name}_", []), *linalg]:
        if [argument.name for argument in schema.arguments][:1] == ["a"]:
            continue
        for position, argument in enumerate(schema.arguments):
            if "Tensor" in str(argument.type):
                keywords.add(argument.name)
                positions |= set() if argument.kwarg_only else {position}
    if name in FUNCTIONAL and inspect.isfunction(getattr(functional, name)):
        signature = inspect.signature(getattr(functional, name))
        for position, parameter in enumerate(signature.parameters.values()):
            if "Tensor" in str(parameter.annotation):
                positions.add(position)
                keywords.add(parameter.name)
    return positions, keywords


def test_operands_are_where_the_schemas_have_tensors() -> None:
    """TorchScript's operators on numbers and lists, whose first argument is called `a`, are left out."""
    wrong = {}
    exempt = names(NOT_OPERANDS) | torch_api.CROSSING | torch_api.ANY_NUMBER
    for name in sorted(OPERATIONS - exempt):
        positions, _ = tensor_arguments(name)
        expected = torch_api.OPERANDS.get(name, frozenset({0}))
        if not positions <= expected or (name in torch_api.OPERANDS and positions != expected):
            wrong[name] = (sorted(positions), sorted(expected))
    assert wrong == {}


def test_exceptions_among_operands_are_needed() -> None:
    needless = [
        name
        for name in sorted(names(NOT_OPERANDS))
        if tensor_arguments(name)[0] <= torch_api.OPERANDS.get(name, frozenset({0}))
    ]
    assert needless == []


def test_keywords_of_operands_are_those_of_the_schemas() -> None:
    used: dict[str, list[str]] = defaultdict(list)
    for name in sorted(OPERATIONS - names(NOT_OPERANDS) - torch_api.CROSSING):
        for keyword in tensor_arguments(name)[1]:
            used[keyword].append(name)
    assert torch_api.TENSOR_KEYWORDS - set(used) == set()
    assert set(used) - torch_api.TENSOR_KEYWORDS == {
        "aweights", "fweights",  # of `cov`, which reads them as numbers
        "qtensor", "qtensors",  # of `dequantize`
        "spacing",  # of `gradient`: coordinates, or numbers
        "v",  # of `norm_except_dim`
    }, {keyword: used[keyword] for keyword in set(used) - torch_api.TENSOR_KEYWORDS}  # fmt: skip


# --- attributes that are evidence -----------------------------------------------------------------------------------


def test_attributes_that_are_evidence_for_a_tensor_are_of_nothing_else() -> None:
    assert [name for name in EVIDENCE if hasattr(nn.Linear(1, 1), name)] == []
    kinds = (list, dict, str, set, tuple, int, float)
    assert [name for kind in kinds for name in EVIDENCE if hasattr(kind, name)] == []


def test_attributes_that_are_evidence_for_a_tensor_are_not_those_of_arrays() -> None:
    numpy = pytest.importorskip("numpy", reason="compares attributes with those of arrays")
    shared = {name for name in EVIDENCE if hasattr(numpy.ndarray, name)}
    assert shared == {"cumsum", "nonzero", "size", "view"}, "arrays have them too; code that has both converts first"


def test_attributes_that_are_evidence_for_a_module_are_of_modules() -> None:
    layer = nn.Linear(1, 1)
    assert [name for name in torch_api.MODULE_ONLY_ATTRIBUTES if not hasattr(layer, name)] == []
    assert [name for name in torch_api.MODULE_ONLY_ATTRIBUTES if hasattr(torch.Tensor, name)] == []


# --- modules --------------------------------------------------------------------------------------------------------

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AdaptiveLogSoftmaxWithLoss": (4, 8, [2, 4]),
    "FractionalMaxPool2d": (2, 3),
    "FractionalMaxPool3d": (2, 3),
    "GRU": (2, 2),
    "LSTM": (2, 2),
    "RNN": (2, 2),
    "Transformer": (4, 2, 1, 1, 4),
    "Unflatten": (1, (2, 2)),
}
"""What is needed to make a module that twos in the place of all required arguments do not make."""


def made(name: str, **keywords: Any) -> Any:
    """A small module of that class."""
    cls = getattr(nn, name)
    required = [
        parameter
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name in ("TransformerEncoder", "TransformerDecoder"):
            return cls(made(f"{name}Layer"), 1)
        return cls(*ARGUMENTS.get(name, (2,) * len(required)), **keywords)


def has_tensors(module: Any) -> bool:
    return bool([*module.parameters(), *module.buffers()])


def test_every_module_is_listed() -> None:
    public = {
        name for name in dir(nn) if isinstance(getattr(nn, name), type) and issubclass(getattr(nn, name), nn.Module)
    }
    known = torch_api.PARAMETER_FREE_MODULES | torch_api.PARAMETER_MODULES | torch_api.CONTAINER_MODULES
    assert public - known == {"DataParallel", "Module", "RNNBase", "RNNCellBase"}, "a wrapper, and bases of others"
    assert "torch.nn.DataParallel" in torch_api.WRAPPER_MODULES


@pytest.mark.parametrize("name", sorted(torch_api.PARAMETER_FREE_MODULES))
def test_modules_without_parameters_and_buffers(name: str) -> None:
    assert not has_tensors(made(name))


@pytest.mark.parametrize("name", sorted(torch_api.PARAMETER_MODULES))
def test_modules_with_parameters(name: str) -> None:
    on_request = name in torch_api.AFFINE_ON_REQUEST
    assert has_tensors(made(name)) is not on_request
    if on_request:
        assert has_tensors(made(name, affine=True))
        assert has_tensors(made(name, track_running_stats=True))


@pytest.mark.parametrize("name", sorted(torch_api.AFFINE_FLAGS))
def test_modules_that_can_do_without_parameters(name: str) -> None:
    position, flag = torch_api.AFFINE_FLAGS[name]
    assert not has_tensors(made(name, **{flag: False}))
    assert parameters(getattr(nn, name))[position] == flag


def test_normalisations_with_an_affine_flag_are_all_there() -> None:
    bare = {
        name
        for name in torch_api.PARAMETER_MODULES
        for flag in ("affine", "elementwise_affine")
        if flag in parameters(getattr(nn, name)) and not has_tensors(made(name, **{flag: False}))
    }
    assert bare == torch_api.AFFINE_ON_REQUEST | set(torch_api.AFFINE_FLAGS)


def test_containers_have_no_parameters_of_their_own() -> None:
    for name in torch_api.CONTAINER_MODULES:
        assert not has_tensors(made(name))


def test_calls_of_recurrent_and_attention_layers_give_pairs() -> None:
    pairs = set()
    for name in sorted(torch_api.PARAMETER_MODULES):
        if name in torch_api.PAIR_MODULES or name.endswith("Cell"):
            x = torch.ones(2, 2) if name.endswith("Cell") else torch.ones(2, 1, 2)
            module = made(name) if name != "MultiheadAttention" else nn.MultiheadAttention(2, 1)
            result = module(x, x, x) if name == "MultiheadAttention" else module(x)
            pairs |= {name} if isinstance(result, tuple) else set()
    assert pairs == torch_api.PAIR_MODULES
    assert isinstance(nn.LSTM(2, 2)(torch.ones(2, 1, 2))[1], tuple)


def test_attributes_of_every_module_are_listed() -> None:
    assert {name for name in dir(nn.Module()) if not name.startswith("_")} == torch_api.MODULE_ATTRIBUTES


WRAPPERS = (nn.DataParallel, nn.parallel.DistributedDataParallel, torch.optim.swa_utils.AveragedModel)


@pytest.mark.parametrize("wrapper", WRAPPERS, ids=lambda wrapper: wrapper.__name__)
def test_attributes_of_wrappers_are_listed(wrapper: type) -> None:
    own = {name for name in dir(wrapper) if not name.startswith("_")} | set(assigned_in(wrapper))
    assert own - torch_api.MODULE_ATTRIBUTES <= torch_api.WRAPPER_ATTRIBUTES[wrapper.__name__]


def assigned_in(kind: type) -> Iterable[str]:
    """The public attributes of ``self`` that the methods of a class assign."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
        written = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if written and ast.unparse(node.value) == "self" and not node.attr.startswith("_"):
            yield node.attr


def test_modules_that_have_a_device_are_listed() -> None:
    modules = {name: each for name, each in vars(nn).items() if isinstance(each, type) and issubclass(each, nn.Module)}
    found = {f"torch.nn.{name}": each for name, each in modules.items()}
    found |= {f"torch.nn.parallel.{name}": getattr(nn.parallel, name) for name in nn.parallel.__all__ if name[0] == "D"}
    has = {
        name for name, each in found.items() if hasattr(each, "device") or "self.device =" in inspect.getsource(each)
    }
    assert has == torch_api.MODULES_WITH_DEVICE


def test_optimizers_are_all_there() -> None:
    kinds = vars(torch.optim).items()
    assert {name for name, each in kinds if isinstance(each, type) and name != "Optimizer"} == torch_api.OPTIMIZERS
