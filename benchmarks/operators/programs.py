"""What is run of an operator or a Module: samples of torch's database, and where the tensors of each are.

A sample is made on the CPU, so that it is the same everywhere. Its tensors then go to the accelerator but for one: that
one stays (`cpu`), or in its place is a 0-dim tensor of the CPU (`scalar`), or it alone goes there (`alone`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

SAMPLES = 2
MOST_TENSORS = 4
SEED = 38


@dataclass(frozen=True)
class Program:
    """`name` is of the entry in the database, `id` of the program; `call` runs it and gives what comes out."""

    name: str
    id: str
    call: Callable[[], Any]


def of_entry(kind: str, entry: Any, device: str) -> Iterator[Program]:
    """The programs of one entry; none where its samples cannot be made on the CPU."""
    torch.manual_seed(SEED)
    try:
        made = list(_of_module(entry) if kind == "module" else _of_operator(entry))
    except Exception:  # noqa: BLE001 -- some samples want a GPU, or a package
        return
    name = f"{kind}/{_name(entry)}"
    for number, (way, sample, call) in enumerate(made):
        for place, placed in _placed(sample, device):
            yield Program(name, f"{name}/{way}{number}/{place}", lambda call=call, placed=placed: call(*placed()))


def entries() -> Iterator[tuple[str, Any]]:
    """The database, each with its kind."""
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    yield from (("operator", one) for one in op_db)
    yield from (("module", one) for one in module_db)


def _name(entry: Any) -> str:
    variant = getattr(entry, "variant_test_name", "")
    return f"{entry.name}.{variant}" if variant else str(entry.name)


def _of_operator(entry: Any) -> Iterator[tuple[str, Any, Callable[..., Any]]]:
    supported = entry.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in supported else min(supported, key=str)
    for sample in islice(entry.sample_inputs("cpu", dtype), SAMPLES):
        given = (sample.input, tuple(sample.args), dict(sample.kwargs))
        yield "call", given, lambda one, rest, named: entry.op(one, *rest, **named)
        if (in_place := entry.inplace_variant) is not None:
            yield "inplace", given, lambda one, rest, named, in_place=in_place: in_place(one, *rest, **named)
        if entry.supports_out and isinstance(out := _plain(entry, given), torch.Tensor):
            named = {**given[2], "out": torch.empty_like(out)}
            yield "out", (*given[:2], named), lambda one, rest, named: entry.op(one, *rest, **named)


def _plain(entry: Any, given: Any) -> Any:
    try:
        return entry.op(given[0], *given[1], **given[2])
    except Exception:  # noqa: BLE001 -- it does not work on the CPU
        return None


def _of_module(entry: Any) -> Iterator[tuple[str, Any, Callable[..., Any]]]:
    inputs = entry.module_inputs_func(entry, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
    for sample in islice(inputs, SAMPLES):
        built, given = sample.constructor_input, sample.forward_input
        if given is None:
            continue
        for where in ("", "left "):

            def call(one: Any, rest: Any, named: Any, *, built: Any = built, where: str = where) -> Any:
                torch.manual_seed(SEED)
                module = entry.module_cls(*built.args, **built.kwargs)
                module = module if where else module.to("cuda")
                out = module(one, *rest, **named) if one is not None else module(*rest, **named)
                parts = [leaf for leaf in tree_flatten(out)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
                if parts:
                    sum(part.sum() for part in parts).backward()
                return out, [parameter.grad for parameter in module.parameters()]

            yield where.strip() or "moved", (None, tuple(given.args), dict(given.kwargs)), call


def _placed(sample: Any, device: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    leaves, shape = tree_flatten(sample)
    tensors = [number for number, leaf in enumerate(leaves) if _may_move(leaf)]

    def there(moved: set[int], scalar: int | None = None) -> Callable[[], Any]:
        def make() -> Any:
            made = list(leaves)
            for number in tensors:
                made[number] = leaves[number].to(device) if number in moved else leaves[number].clone()
            if scalar is not None:
                made[scalar] = leaves[scalar].flatten()[0].clone()
            return tree_unflatten(made, shape)

        return make

    yield "all", there(set(tensors))
    for count, number in enumerate(tensors[:MOST_TENSORS] if len(tensors) > 0 else ()):
        yield f"cpu{count}", there(set(tensors) - {number})
        if leaves[number].numel() and leaves[number].dim() and leaves[number].layout == torch.strided:
            yield f"scalar{count}", there(set(tensors) - {number}, number)
        if len(tensors) > 1:
            yield f"alone{count}", there({number})


def _may_move(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.device.type == "cpu"
