"""Values for the slots of a program: described as JSON, so that two processes build the same, and the report can tell.

A description is a dict with ``is``, the kind: ``tensor``, ``value``, ``device``, ``module``, ``function``, ``list``,
``dict``, ``loader``, ``optimizer``, ``instance``, ``namespace``, ``generator``, ``name``, which is a class or function
by its path, or ``default``, which leaves the slot out. Tensors are random of a fixed seed if no more was seen of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from torchdevlint.runtime.execute import called

Description = called.Description
CPU = torch.device("cpu")
SIZE = 8
"""All sizes are the same unless something says otherwise, so that shapes meet."""
PUBLIC = ("torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.distributions", "torch.utils.data")
"""Modules of torch that ``import torch`` brings, and by whose names their contents go."""
DEFAULT: Description = {"is": "default"}
_BY_NAME = {
    "kernel_size": 3, "kernel": 3, "stride": 1, "padding": 1, "dilation": 1, "groups": 1, "num_heads": 2, "n_heads": 2,
    "nhead": 2, "heads": 2, "n_head": 2, "num_attention_heads": 2, "num_layers": 2, "n_layers": 2, "layers": 2,
    "num_hidden_layers": 1, "depth": 2, "vocab_size": 32, "num_embeddings": 32, "n_vocab": 32, "max_len": 32,
    "max_length": 32, "max_position_embeddings": 32, "n_positions": 32, "n_ctx": 32, "dropout": 0.0, "p": 0.5,
    "drop_rate": 0.0, "eps": 1e-5, "epsilon": 1e-5, "alpha": 0.5, "beta": 0.5, "gamma": 2.0, "margin": 1.0, "lr": 0.1,
    "momentum": 0.1, "temperature": 1.0, "scale": 1.0, "epoch": 0, "epochs": 1, "num_epochs": 1, "n_epochs": 1,
    "seed": 0, "rank": 0, "local_rank": 0, "gpu": 0, "dim": SIZE, "axis": -1, "padding_idx": 0, "pad_idx": 0,
    "pad_token_id": 0, "pad": 0, "blank": 0, "step": 1, "steps": 2, "k": 2, "weight_decay": 0.0, "hidden_act": "gelu",
    "activation": "relu", "act": "relu", "reduction": "mean", "mode": "mean", "initializer_range": 0.02,
    "layer_norm_eps": 1e-5, "layer_norm_epsilon": 1e-5, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    "type_vocab_size": 2, "use_cache": False, "output_attentions": False, "output_hidden_states": False,
}  # fmt: skip
"""What parameters of these names are usually given."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Where values are put: `device` is what a slot for a device gets. What comes from a loader is on the CPU."""

    device: torch.device
    tensors: torch.device
    modules: torch.device

    @property
    def before_the_move(self) -> Setting:
        """For what a Module is constructed with, which is then moved: all of it is on the CPU."""
        return Setting(self.device, CPU, CPU)


def tensor(*shape: int, dtype: str = "float32", fill: str = "") -> Description:
    return {"is": "tensor", "shape": list(shape), "dtype": dtype, **({"fill": fill} if fill else {})}


def value(plain: Any) -> Description:
    return {"is": "value", "value": plain}


def unique(candidates: Iterable[Description]) -> list[Description]:
    """Descriptions without those that are there before."""
    found: list[Description] = []
    for each in candidates:
        if each not in found:
            found.append(each)
    return found


def by_name(name: str) -> Any:
    """A plain value for a parameter of that name, None if it says nothing."""
    return _BY_NAME.get(name.lstrip("_").lower())


def build(description: Description, setting: Setting) -> Any:
    """The value that is described. Tensors are made by a generator of the CPU and then moved."""
    return _BUILDERS[description["is"]](description, setting)


def describe(description: Description, setting: Setting) -> str:
    """In words, for the report."""
    kind = description["is"]
    if kind == "tensor":
        shape = "x".join(map(str, description["shape"])) or "0-dim"
        place = CPU if description.get("on") == "cpu" else setting.tensors
        return f"{description['dtype']} tensor {shape} on {place}"
    if kind == "value":
        return repr(description["value"])
    if kind == "device":
        return str(setting.device)
    if kind in ("list", "tuple", "loader"):
        inside = setting.before_the_move if kind == "loader" else setting
        return f"{kind} of {', '.join(describe(each, inside) for each in description['of'])}"
    if kind == "dict":
        return "{" + ", ".join(f"{key!r}: {describe(each, setting)}" for key, each in description["of"].items()) + "}"
    if kind == "instance":
        listed = [describe(each, setting) for each in description.get("args", ())]
        named = {name: each for name, each in description["with"].items() if each["is"] != "default"}
        given = ", ".join([*listed, *(f"{name}={describe(each, setting)}" for name, each in named.items())])
        return f"{description['of'].rpartition(':')[2]}({given})"
    if kind == "name":
        return str(description["of"]).rpartition(":")[2]
    if kind == "module":
        return str(description["make"])
    return {"namespace": "an object with plausible attributes", "default": "its default"}.get(kind, f"a {kind}")


def is_placed(description: Any) -> bool:
    """Whether something of it is put where the setting says, or is that device itself."""
    if isinstance(description, list):
        return any(map(is_placed, description))
    if not isinstance(description, dict):
        return False
    kind = description.get("is")
    if kind == "tensor":
        return bool(description.get("on") != "cpu")
    return kind in ("device", "module", "optimizer", "generator") or any(map(is_placed, description.values()))


def _tensor(description: Description, setting: Setting) -> torch.Tensor:
    dtype, shape = getattr(torch, description["dtype"]), description["shape"]
    generator = torch.Generator().manual_seed(len(shape))
    if "data" in description:
        made = torch.tensor(description["data"], dtype=dtype, device=CPU).reshape(shape)
    elif "low" in description and dtype != torch.bool:
        made = _between(description["low"], description["high"], shape, dtype, generator)
    elif description.get("fill") == "normal":
        made = torch.randn(shape, generator=generator, dtype=dtype, device=CPU)
    elif description.get("fill") == "ones":
        made = torch.ones(shape, dtype=dtype, device=CPU)
    elif description.get("fill") == "lengths":
        made = torch.full(shape, SIZE, dtype=dtype, device=CPU)
    elif dtype == torch.bool:
        made = torch.rand(shape, generator=generator, device=CPU) > 0.5
    elif dtype.is_floating_point:
        made = torch.rand(shape, generator=generator, dtype=dtype, device=CPU) + 0.1
    else:
        made = torch.randint(0, 2, shape, generator=generator, dtype=dtype, device=CPU)
    made = made.to(CPU if description.get("on") == "cpu" else setting.tensors)
    return made.requires_grad_() if description.get("grad") else made


def _between(low: Any, high: Any, shape: list[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Numbers from `low` to `high`, both included."""
    if low == high:
        return torch.full(shape, low, dtype=dtype, device=CPU)
    if dtype.is_floating_point or dtype.is_complex:
        return torch.rand(shape, generator=generator, device=CPU).mul(high - low).add(low).to(dtype)
    return torch.randint(low, high + 1, shape, generator=generator, device=CPU).to(dtype)


def _module(description: Description, setting: Setting) -> torch.nn.Module:
    made: torch.nn.Module = eval(description["make"], {"nn": torch.nn, "torch": torch})  # noqa: S307 (of our own tables)
    return made.to(setting.modules)


def _instance(description: Description, setting: Setting) -> Any:
    listed, given = arguments(description, setting)
    made = named(description["of"])(*listed, **given)
    return made.to(setting.modules) if isinstance(made, torch.nn.Module) else made


def arguments(description: Description, setting: Setting) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a call or a construction: those that are given by their place, and those by their name."""
    listed = [build(each, setting) for each in description.get("args", ())]
    return listed, {name: build(each, setting) for name, each in description["with"].items() if each["is"] != "default"}


def named(path: str) -> Any:
    """What ``package.module:Qualified.name`` names."""
    module, _, qualname = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def _loader(description: Description, setting: Setting) -> Any:
    """Two batches, on the CPU as those of a `DataLoader`."""
    batch = [build(each, setting.before_the_move) for each in description["of"]]
    return _Loader([tuple(batch) if len(batch) > 1 else batch[0]] * 2)


class _Loader(list):  # type: ignore[type-arg]
    """Batches, with what loops ask of a `DataLoader`."""

    batch_size = SIZE

    @property
    def dataset(self) -> list[int]:
        return list(range(SIZE * len(self)))


def plausible(name: str) -> Any:
    """A value for an attribute of a configuration."""
    known, flag = by_name(name), name.startswith(("use_", "is_", "has_", "do_", "no_", "with_"))
    return known if known is not None else False if flag else SIZE


class Namespace:
    """A configuration: answers every attribute by its name, with a size if the name says nothing."""

    def __init__(self) -> None:
        self.__dict__["asked"] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self.asked:
            self.asked[name] = plausible(name)
        return self.asked[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self.asked[name] = value

    def __contains__(self, name: str) -> bool:
        return True

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name) if default is None else default

    def to_dict(self) -> dict[str, Any]:
        return dict(self.asked)


def _function(_description: Description, _setting: Setting) -> Any:
    def same(*given: Any, **_named: Any) -> Any:
        return given[0] if given else None

    return same


def _optimizer(_description: Description, setting: Setting) -> Any:
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1, device=setting.modules))], lr=0.1)


def _numpy(description: Description, setting: Setting) -> Any:
    if "tensor" in description:
        return _tensor(description["tensor"], setting.before_the_move).numpy()
    return torch.rand(description["shape"], device=CPU).numpy()


_BUILDERS: dict[str, Any] = {
    "tensor": _tensor,
    "value": lambda description, _setting: description["value"],
    "device": lambda _description, setting: setting.device,
    "module": _module,
    "function": _function,
    "list": lambda description, setting: [build(each, setting) for each in description["of"]],
    "tuple": lambda description, setting: tuple(build(each, setting) for each in description["of"]),
    "dict": lambda description, setting: {key: build(each, setting) for key, each in description["of"].items()},
    "loader": _loader,
    "optimizer": _optimizer,
    "instance": _instance,
    "namespace": lambda _description, _setting: Namespace(),
    "name": lambda description, _setting: named(description["of"]),
    "generator": lambda _description, setting: torch.Generator(device=setting.device).manual_seed(0),
    "numpy": _numpy,
}


def tensors_in(value: Any, depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors in what a program gave: in lists, tuples, dicts, and in the fields of an output object."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, dict):
        for each in list(value.values()):
            yield from tensors_in(each, depth - 1)
    elif depth and isinstance(value, (list, tuple, set)):
        for each in value:
            yield from tensors_in(each, depth - 1)
    elif depth and hasattr(value, "__dict__") and not isinstance(value, (type, torch.nn.Module)):
        for each in list(vars(value).values()):
            yield from tensors_in(each, depth - 1)
