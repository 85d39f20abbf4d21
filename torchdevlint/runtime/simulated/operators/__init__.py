"""What an accelerator asks of the devices of an operator's operands, and where its outputs are.

Where all operands agree nothing needs to be asked, unless a `Rule` is `always` to be: the outputs are where the rule
says. Where they differ, `placement` gives the device of the outputs or raises the accelerator's own exception; its
attribute `OPERANDS` (``torchdevlint_operands``) holds the operands at fault.

Sources: native_functions.yaml through torchgen (`tables`), aten/src/ATen/TensorIterator.cpp (`checks`), and for each
rule in `special` the file that is named there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from torchdevlint.runtime.simulated.operators import tables, texts
from torchdevlint.runtime.simulated.operators.checks import Check, checked, free, iterator, out_follows
from torchdevlint.runtime.simulated.operators.composite import COMPOSITE
from torchdevlint.runtime.simulated.operators.foreach import foreach
from torchdevlint.runtime.simulated.operators.indexing import MASKS
from torchdevlint.runtime.simulated.operators.libraries import LIBRARIES
from torchdevlint.runtime.simulated.operators.schema import Call, Operand, Schema, schema_of
from torchdevlint.runtime.simulated.operators.special import no_kernel, special_checks
from torchdevlint.runtime.simulated.operators.texts import OPERANDS

__all__ = [
    "COMPOSITE", "OPERANDS", "Call", "Operand", "Rule", "Schema", "placement", "placements",
    "rule_for", "schema_of", "waits",
]  # fmt: skip

DeviceOf = Callable[[Any], Any]

# Operators that wait for the accelerator because the size or the value of the result is needed on the CPU:
# cuda/Nonzero.cu, cuda/Unique.cu, cuda/SummaryOps.cu (bincount), cuda/Equal.cpp, cuda/Indexing.cu (masked_select),
# Distributions in DistributionTemplates.h (`std` is checked), BatchLinearAlgebra.cpp (`_linalg_check_errors`).
_SYNCS = frozenset(
    """
    _local_scalar_dense nonzero nonzero.out masked_select masked_select.out _unique _unique2 unique_dim
    unique_consecutive unique_dim_consecutive bincount equal allclose is_nonzero item _linalg_check_errors
    normal.float_Tensor normal.Tensor_Tensor linspace.Tensor_Tensor linspace.Tensor_Scalar linspace.Scalar_Tensor
    logspace.Tensor_Tensor logspace.Tensor_Scalar logspace.Scalar_Tensor _coalesce
    """.split()
)
_SYNCS_WITH_MASK = frozenset(
    "index.Tensor index.Tensor_out _unsafe_index.Tensor index_put index_put_ _index_put_impl_ _unsafe_index_put".split()
)
_SYNCS_WITH_VALUE = frozenset(
    "masked_fill.Tensor masked_fill_.Tensor index_fill.int_Tensor index_fill_.int_Tensor".split()
)
_ON_CPU = frozenset("_nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets".split())
_SCALED = ("_scaled_grouped_mm_v2", "_scaled_mm_v2", "_scaled_mm_v2.out")
_PACK = "_pack_padded_sequence"
_DEVICE_IS_OF_VALUES = ("_sparse_coo_tensor_", "_sparse_compressed_", "_sparse_csr_", "_sparse_csc_", "_sparse_bs")
_ASKED_ALWAYS = ("_foreach_addcdiv", "_foreach_addcmul", "histogram.", "_histogramdd", "randint_like.Tensor")


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known of an overload.

    `kind`: ``checked`` (torchgen's check), ``iterator`` (TensorIterator's), ``out`` (only out= is compared),
    ``foreach``, ``special``, or ``free`` (no check).
    `outputs`: ``common`` (the device that `placement` gives, or the one shared by the operands), ``aliases`` (nothing
    new comes out), ``cpu`` (unless a device is given), ``device argument`` (that of the operands without one), ``each``
    (a list, see `placements`), or a tuple of these by position.
    `always`: `placement` is to be asked even where all operands agree.
    `syncs`: empty, ``always``, or when `waits` has to be asked: ``mask``, ``value``, ``size``.
    """

    overload: Any
    kind: str
    schema: Schema
    check: Check
    outputs: str | tuple[str, ...]
    always: bool
    syncs: str


@cache
def rule_for(overload: Any) -> Rule:
    """The `Rule` of an `OpOverload` of any namespace; of those outside of aten only `LIBRARIES` are not ``free``."""
    schema = schema_of(overload)
    kind, check = _kind(schema)
    if kind == "free" and any(argument.out for argument in schema.tensors) and "generated" in map(_tag, overload.tags):
        kind, check = "out", out_follows
    return Rule(
        overload=overload,
        kind=kind,
        schema=schema,
        check=check,
        outputs=_outputs(schema, kind),
        always=schema.name == _PACK
        or check is no_kernel
        or (schema.namespace == "aten" and schema.name.startswith(_ASKED_ALWAYS)),
        syncs=_syncs(schema) if schema.namespace == "aten" else "",
    )


def placement(overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> Any:
    """The device of the new outputs of this call. Raises what the accelerator would raise.

    `device_of` gives the claimed `torch.device` of a tensor. None is returned where there is no tensor.
    """
    rule = rule_for(overload)
    device = rule.check(Call(rule.schema, args, kwargs, device_of))
    if isinstance(device, tuple):
        return next((one for one in device if one is not None and one.type != "cpu"), device[0] if device else None)
    return device


def placements(overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> tuple[Any, ...]:
    """The device of each output of an operator whose `outputs` are ``each``."""
    rule = rule_for(overload)
    device = rule.check(Call(rule.schema, args, kwargs, device_of))
    return device if isinstance(device, tuple) else (device,)


def waits(rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any], device_of: DeviceOf) -> bool:
    """Whether this call makes the CPU wait for the accelerator."""
    if not rule.syncs or (rule.syncs == "mask" and not _has_mask(args[1] if len(args) > 1 else kwargs["indices"])):
        return False
    call = Call(rule.schema, args, kwargs, device_of)
    if rule.syncs == "mask":
        return any(str(index.tensor.dtype) in MASKS and index.device.type != "cpu" for index in call.of("indices"))
    if rule.syncs == "value":
        return any(value.device.type != "cpu" for value in call.of("value"))
    if rule.syncs == "size" and call.named("output_size") is not None:
        return False
    return any(operand.device.type != "cpu" for operand in call.operands())


def _has_mask(indices: Sequence[Any]) -> bool:
    return any(index is not None and str(index.dtype) in MASKS for index in indices)


def structured(name: str, release: tuple[int, int]) -> bool:
    """Whether an overload has a structured kernel with torchgen's check. `hypot` had one before 2.10."""
    if name in _SCALED:
        return release >= texts.SCALED_IS_STRUCTURED
    older = name in ("hypot", "hypot.out", "hypot_") and release < texts.HYPOT_WITHOUT_CHECK
    return older or name in tables.STRUCTURED


def _tag(tag: Any) -> str:
    return str(tag).rpartition(".")[2]


@cache
def _special() -> dict[str, Check]:
    return special_checks(texts.installed())


def _kind(schema: Schema) -> tuple[str, Check]:
    if schema.namespace != "aten" or not schema.tensors:
        library = LIBRARIES.get(f"{schema.namespace}::{schema.base}")
        return ("free", free) if library is None else ("special", library)
    name, release = schema.name, texts.installed()
    special = _special().get(name)
    if special is not None:
        return "special", special
    if schema.base.startswith("_foreach"):
        return "foreach", foreach
    if structured(name, release):
        return "checked", checked(True, release)
    if name in tables.UNSTRUCTURED or name in _SCALED:
        return "checked", checked(False, release)
    if name in tables.ITERATOR:
        return "iterator", iterator
    if name in tables.OUT:
        return "out", out_follows
    return "free", free


def _outputs(schema: Schema, kind: str) -> str | tuple[str, ...]:
    if schema.aliases:
        return "aliases"
    takes_device = schema.device is not None and not schema.base.startswith(_DEVICE_IS_OF_VALUES)
    if takes_device and schema.name not in _SYNCS:
        return "device argument"
    if takes_device or schema.name in _ON_CPU:  # of linspace's bounds only the numbers are read
        return "cpu"
    if schema.name == _PACK:
        return ("common", "cpu")
    return "each" if kind == "foreach" else "common"


def _syncs(schema: Schema) -> str:
    name = schema.name
    if name in _SYNCS:
        return "always"
    if name in _SYNCS_WITH_MASK:
        return "mask"
    if name in _SYNCS_WITH_VALUE:
        return "value"
    return "size" if name == "repeat_interleave.Tensor" else ""
