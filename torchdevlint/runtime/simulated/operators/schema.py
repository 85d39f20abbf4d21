"""What the schema of an operator says about its tensors: which it takes, writes, returns and aliases.

Pure: nothing here looks at values or at devices. Everything is computed once for an overload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument that holds tensors. `index` is its place among all the arguments of the schema."""

    name: str
    index: int
    keyword: bool
    many: bool
    written: bool
    out: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """The tensors of an overload.

    `name` is ``add.Tensor`` or ``addmm``: base and overload as in native_functions.yaml, without the namespace.
    `tensors` are in the order of the schema; `in_order` has the ``out=`` arguments first and leaves out other
    keyword-only ones: the order of torchgen's generated device check. `aliases` says that every returned tensor
    shares storage with an argument. `device` and `generator` are the places of the arguments of these names.
    """

    namespace: str
    name: str
    base: str
    overload: str
    tensors: tuple[Argument, ...]
    in_order: tuple[Argument, ...]
    returned: tuple[str, ...]
    aliases: bool
    device: int | None
    generator: int | None
    names: tuple[str, ...]

    @property
    def in_place(self) -> bool:
        return any(argument.written and not argument.out for argument in self.tensors)


@dataclass(frozen=True, slots=True)
class Operand:
    """One tensor of a call, with the name of its argument and the device it claims to be on."""

    name: str
    tensor: Any
    device: Any
    written: bool = False
    out: bool = False

    @property
    def cpu_scalar(self) -> bool:
        return bool(self.device.type == "cpu" and self.tensor.dim() == 0)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an overload; `device_of` answers for tensors and for generators."""

    schema: Schema
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    device_of: Callable[[Any], Any]

    def value(self, index: int | None, default: Any = None) -> Any:
        """What was given for the argument at `index` of the schema."""
        if index is None:
            return default
        if index < len(self.args):
            return self.args[index]
        return self.kwargs.get(self.schema.names[index], default)

    def named(self, name: str, default: Any = None) -> Any:
        names = self.schema.names
        return self.value(names.index(name), default) if name in names else default

    def operands(self, arguments: Sequence[Argument] | None = None) -> list[Operand]:
        """The tensors given for `arguments`, by default for all in the order of the schema; None is left out."""
        found = []
        for argument in self.schema.tensors if arguments is None else arguments:
            value = self.value(argument.index)
            if value is None:
                continue
            for tensor in value if argument.many else (value,):
                if hasattr(tensor, "dim"):  # a number may stand where the schema says Tensor
                    device = self.device_of(tensor)
                    found.append(Operand(argument.name, tensor, device, argument.written, argument.out))
        return found

    def of(self, *names: str) -> list[Operand]:
        """The tensors of the arguments called `names`, in this order."""
        by_name = {argument.name: argument for argument in self.schema.tensors}
        return self.operands([by_name[name] for name in names if name in by_name])


@cache
def schema_of(overload: Any) -> Schema:
    """The `Schema` of an `OpOverload`."""
    schema = overload._schema
    namespace, _, base = schema.name.partition("::")
    name = f"{base}.{schema.overload_name}" if schema.overload_name else base
    tensors = []
    device = generator = None
    for index, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        if "Tensor" in kind:
            alias = argument.alias_info
            written = bool(alias is not None and alias.is_write)
            out = written and argument.kwarg_only
            tensors.append(Argument(argument.name, index, argument.kwarg_only, "List" in kind, written, out))
        elif "Device" in kind and argument.name == "device":
            device = index
        elif "Generator" in kind:
            generator = index
    returned = [value for value in schema.returns if "Tensor" in str(value.type)]
    return Schema(
        namespace=namespace,
        name=name,
        base=base,
        overload=schema.overload_name,
        tensors=tuple(tensors),
        in_order=(
            *(argument for argument in tensors if argument.out),
            *(argument for argument in tensors if not argument.keyword),
        ),
        returned=tuple("many" if "List" in str(value.type) else "one" for value in returned),
        aliases=all(value.alias_info is not None for value in returned),
        device=device,
        generator=generator,
        names=tuple(argument.name for argument in schema.arguments),
    )
