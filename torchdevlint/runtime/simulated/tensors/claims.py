"""Claims: on which simulated device the bytes of an ordinary CPU tensor are said to be.

A claim is an attribute of the tensor's `torch.UntypedStorage` object, which torch keeps as long as the storage lives
(`PyObject` preservation, torch/csrc/StorageMethods.cpp, since 2.1): views and `.data` share it, and it dies with the
bytes. What has no storage (sparse tensors) has its claim in a table of tensors.

A storage *without* a claim is not known to be anywhere: it answers `cpu`, and never makes an error. Tensors that the
program creates on the CPU have a claim of `cpu`; without one are those that existed before the simulation, and those
that a composite C++ function makes for itself with the options of what is really a CPU tensor.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any, Protocol

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.weak import WeakTensorKeyDictionary

from torchdevlint.runtime.record.sites import Place, Site

CPU = torch.device("cpu")
_new_object = object.__new__
ATTRIBUTE = "_torchdevlint_claim"

PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
storage_of = torch._C.TensorBase.untyped_storage
real_device = torch._C.TensorBase.device.__get__
_object_claims: MutableMapping[torch.Tensor, Claim] = WeakTensorKeyDictionary()
WITHOUT_STORAGE = (NotImplementedError, RuntimeError, ValueError)
"""What asking a sparse tensor, a wrapper of functorch, or a parameter of a lazy module for its storage raises."""


class Ledger(Protocol):
    """Counts what is claimed on one accelerator in blocks (`driver.memory.block_of`), for its memory statistics.

    Claims add to it themselves, since they do for every tensor.
    """

    taken: int
    given: int
    enough: int

    def grow(self, now: int) -> None: ...


class Claim:
    """A place, and how the bytes got there.

    `how` names what made them, at `created`; `moved` is the line that brought them here from another device. `copy` is
    the line of the last move to another device, and the claim of what that move gave. What is computed from tensors of
    the CPU shares their claim, so that it leads back to what the program made there.
    """

    __slots__ = ("__weakref__", "copy", "created", "device", "how", "moved", "pinned")

    def __init__(
        self,
        device: torch.device,
        how: str = "",
        created: Place = None,
        moved: Site | None = None,
        pinned: bool = False,
    ) -> None:
        self.device = device
        self.how = how
        self.created = created
        self.moved = moved
        self.pinned = pinned
        self.copy: tuple[Site | None, weakref.ref[Claim]] | None = None


class AcceleratorClaim(Claim):
    """A claim of a block on an accelerator, which is given back when the storage dies."""

    __slots__ = ("block", "ledger")

    def __init__(
        self,
        device: torch.device,
        how: str,
        created: Place,
        moved: Site | None,
        block: int,
        ledger: Ledger,
    ) -> None:
        self.device = device
        self.how = how
        self.created = created
        self.moved = moved
        self.pinned = False
        self.copy = None
        self.block = 0
        self.ledger = ledger
        if block:  # no call between reading and writing, as in `DeviceMemory`
            ledger.taken = taken = ledger.taken + block
            self.block = block
            now = taken - ledger.given
            if now > ledger.enough:
                ledger.grow(now)

    def __del__(self) -> None:
        ledger = self.ledger
        ledger.given += self.block


def beside(first: AcceleratorClaim, block: int, how: str, created: Place) -> AcceleratorClaim:
    """A claim of another block on the accelerator of `first`.

    Nearly every operation makes one, so it is put together here: a constructor in Python takes twice as long.
    """
    claim = _new_object(AcceleratorClaim)
    claim.device = first.device
    claim.how = how
    claim.created = created
    claim.moved = claim.copy = None
    claim.pinned = False
    claim.ledger = ledger = first.ledger
    claim.block = 0
    if block:
        ledger.taken = taken = ledger.taken + block
        claim.block = block
        now = taken - ledger.given
        if now > ledger.enough:
            ledger.grow(now)
    return claim


def _has_functions(tensor: torch.Tensor) -> bool:
    """Whether this may be of a class with a `__torch_function__` that would see what the simulation asks of it."""
    return type(tensor) not in PLAIN and torch._C._is_torch_function_enabled()


def claim_of(tensor: torch.Tensor) -> Claim | None:
    """The claim on a tensor's bytes; None if nothing is known about them."""
    if _has_functions(tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return claim_of(tensor)
    try:
        claim: Claim | None = storage_of(tensor)._torchdevlint_claim
    except WITHOUT_STORAGE:
        return _claim_without_storage(tensor)
    return claim


def device_of(tensor: torch.Tensor) -> torch.device:
    """The claimed device; the real one where there is no claim."""
    claim = claim_of(tensor)
    if claim is not None:
        return claim.device
    with torch._C.DisableTorchFunctionSubclass():
        device: torch.device = real_device(tensor)
    return device


def set_claim(tensor: torch.Tensor, claim: Claim) -> None:
    """Replace the claim on a tensor's bytes."""
    if _has_functions(tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return set_claim(tensor, claim)
    try:
        storage_of(tensor)._torchdevlint_claim = claim
    except WITHOUT_STORAGE:
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            set_claim(torch._C._functorch.get_unwrapped(tensor), claim)
        else:
            _object_claims[tensor] = claim
            for part in _parts(tensor):
                setattr(storage_of(part), ATTRIBUTE, Claim(claim.device, claim.how, claim.created, claim.moved))


def nbytes_of(tensor: torch.Tensor) -> int:
    if _has_functions(tensor):
        with torch._C.DisableTorchFunctionSubclass():
            return nbytes_of(tensor)
    try:
        return int(storage_of(tensor).nbytes())
    except WITHOUT_STORAGE:
        return int(tensor.numel() * tensor.element_size()) if tensor.layout is torch.strided else 0


def tensors_in(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """The tensors among arguments, in order, also those in lists."""
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(arg, torch.Tensor):
            yield arg
        elif isinstance(arg, (list, tuple)):
            for item in arg:
                if isinstance(item, torch.Tensor):
                    yield item


def _parts(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The dense tensors that a sparse one is made of."""
    with _disable_current_modes():
        if tensor.layout is torch.sparse_coo:
            return tensor._indices(), tensor._values()
        if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
            return tensor.crow_indices(), tensor.col_indices(), tensor.values()
        if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
            return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
    return ()


def _claim_without_storage(tensor: torch.Tensor) -> Claim | None:
    """Of sparse tensors the claim on the object, of functorch's wrappers that of what they wrap."""
    claim: Claim | None
    claim = _object_claims.get(tensor)
    if claim is None and torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        return claim_of(torch._C._functorch.get_unwrapped(tensor))
    return claim
