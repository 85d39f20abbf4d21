"""The device checks that most operators share: torchgen's, TensorIterator's, and that of an out= argument.

A check takes a `Call` and returns the device of the outputs, or raises what the accelerator would raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from torchdevlint.runtime.simulated.operators import texts
from torchdevlint.runtime.simulated.operators.schema import Call, Operand

Check = Callable[[Call], Any]

_KEYS = {"cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}


def common(operands: Iterable[Operand]) -> Any:
    """The first accelerator among the operands, or the CPU; None without operands."""
    device = None
    for operand in operands:
        if operand.device.type != "cpu":
            return operand.device
        device = device or operand.device
    return device


def agree(first: Operand, other: Operand, text: str) -> None:
    """Raises `text` if the two are on different devices."""
    if other.device != first.device:
        raise texts.mismatch(text, first, other)


def kernel(base: str, overload: str, key: str, structured: bool, out: bool) -> str:
    """The name of the generated function, as `wrapper_kernel_sig` of torchgen makes it.

    Structured kernels are called ``wrapper_CUDA_add_Tensor`` and others ``wrapper_CUDA_Tensor_add``, which gives an
    overload without a name two underscores: ``wrapper_CUDA__index_select``.
    """
    name = f"{base}_out" if out else base
    if structured and not key.startswith(("Sparse", "Quantized", "Nested")):
        return f"wrapper_{key}_{name}" + (f"_{overload}" if overload else "")
    return f"wrapper_{key}_{overload}_{name}"


def dispatch_key(operands: Sequence[Operand]) -> str:
    """The dispatch key that the kernel is registered with."""
    device = common(operands)
    key = _KEYS.get(device.type) or str(device.type).upper()
    for operand in operands:
        layout = str(operand.tensor.layout)
        if layout == "torch.sparse_coo":
            return f"Sparse{key}"
        if layout.startswith("torch.sparse"):
            return f"SparseCsr{key}"
        if operand.tensor.is_quantized:
            return f"Quantized{key}"
        if operand.tensor.is_nested:
            return f"NestedTensor{key}"
    return key


def same(operands: Sequence[Operand], name: Callable[[str], str], release: tuple[int, int]) -> Any:
    """`check_and_update_common_device` over `operands`; `name` makes the method's name of the dispatch key."""
    first = None
    for operand in operands:
        if first is None:
            first = operand
        elif operand.device != first.device:
            if common(operands).type == "mps":
                raise texts.placeholder(first, operand)
            raise texts.generated(first, operand, name(dispatch_key(operands)), release)
    return first and first.device


def checked(structured: bool, release: tuple[int, int]) -> Check:
    """A kernel with torchgen's check: all tensors but keyword-only ones, those of out= first."""

    def check(call: Call) -> Any:
        schema = call.schema
        out = any(argument.out for argument in schema.tensors)

        def name(key: str) -> str:
            return kernel(schema.base, schema.overload, key, structured, out)

        return same(call.operands(schema.in_order), name, release)

    return check


def delegate(
    base: str, overload: str, structured: bool, arguments: Sequence[tuple[str, str]], release: tuple[int, int]
) -> Check:
    """An operator whose kernel has no check and calls another that has: `arguments` are (its name, the other's)."""

    def check(call: Call) -> Any:
        operands = [replace(operand, name=there) for here, there in arguments for operand in call.of(here)]

        def name(key: str) -> str:
            return kernel(base, overload, key, structured, any(operand.name == "out" for operand in operands))

        return same(operands, name, release)

    return check


def iterate(outputs: Sequence[Operand], inputs: Sequence[Operand], scalars: int = 1) -> Any:
    """`TensorIteratorBase::compute_types`.

    `scalars` is how many 0-dimensional CPU tensors may be inputs beside an accelerator: one with
    `allow_cpu_scalars`, else none.
    """
    device = common((*outputs, *inputs))
    if device is None or device.type == "cpu":
        return device
    leader = next(operand for operand in (*outputs, *inputs) if operand.device == device)
    seen = []
    for operand in (*outputs, *inputs):
        if scalars and operand.cpu_scalar and not any(operand is output for output in outputs):
            seen.append(operand)
            if len(seen) > scalars:
                raise texts.too_many_scalars(*seen)
        elif operand.device != device:
            raise texts.iterator(leader, operand)
    return device


def written_and_read(call: Call) -> tuple[list[Operand], list[Operand]]:
    """Outputs and inputs as an iterator gets them: what is written in place is both."""
    operands = call.operands()
    return [operand for operand in operands if operand.written], [operand for operand in operands if not operand.out]


def iterator(call: Call) -> Any:
    """An element-wise operator with `allow_cpu_scalars`: all of two operands, and `where`, `clamp`, `lerp`."""
    outputs, inputs = written_and_read(call)
    return iterate(outputs, inputs, 1 if len(inputs) > 1 else 0)


def strict_iterator(call: Call) -> Any:
    """An iterator without `allow_cpu_scalars`."""
    return iterate(*written_and_read(call), scalars=0)


def composed(call: Call) -> Any:
    """Element-wise operators one after the other: each allows its own CPU scalar, so any number of them."""
    outputs, inputs = written_and_read(call)
    return iterate(outputs, inputs, len(inputs))


def out_follows(call: Call) -> Any:
    """An out= argument must be where the inputs are; of the inputs nothing is asked."""
    operands = call.operands()
    inputs = [operand for operand in operands if not operand.out]
    device = common(inputs)
    leader = next((operand for operand in inputs if operand.device == device), None)
    if leader is not None:
        for operand in operands:
            if operand.out and operand.device != device:
                raise texts.wrong_out(leader, operand)
    return device


def free(call: Call) -> Any:
    """No check that is known: the outputs are on the first accelerator among the operands."""
    return common(call.operands())


def first_operand(call: Call) -> Any:
    """No check, and the outputs are where the first operand is."""
    operands = call.operands()
    return operands[0].device if operands else None
