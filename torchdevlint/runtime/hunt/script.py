"""The program that is executed, as a script that a user can run: there is no other way in which a target is called.

``python script.py`` runs it on a GPU, ``python script.py cpu`` on the CPU, and ``torchdevlint run -- python script.py``
on simulated accelerators.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from torchdevlint.runtime.execute.values import SIZE, Description
from torchdevlint.runtime.hunt.targets import METHOD, MODULE, Target

Values = Mapping[str, Description]
INIT = "init."
"""What the keys of a constructor's arguments begin with."""
_TAKEN = frozenset({"torch", "sys", "io", "copy", "device", "second", "module", "thing", "result", "arguments", "same"})


class Call(Struct, frozen=True):
    """How a target is called: with which values, and which of them are on the CPU (`on_cpu`, by their paths).

    `module_is_class` says of a method that it is one of a Module, which is moved; `static` that it needs no instance;
    `positional` that its arguments have no names for callers.
    """

    target: Target
    values: Values
    module_is_class: bool = False
    static: bool = False
    positional: bool = False
    folder: str = ""
    on_cpu: frozenset[str] = frozenset()
    module_on_cpu: bool = False


class Script(Struct, frozen=True):
    """The parts of a script; `body` comes after the arguments are defined."""

    call: Call
    title: str
    device: str
    body: tuple[str, ...]
    second: str = ""
    imports: tuple[str, ...] = ()
    as_function: bool = False
    paths: tuple[str, ...] = ()
    """What in the result has a gradient."""

    @property
    def text(self) -> str:
        return "\n".join(_lines(self)) + "\n"


def plain(call: Call, title: str = "", device: str = "cuda") -> Script:
    """The target is called once."""
    return Script(call, title or call.target.name, device, (*setting_up(call), f"result = {called(call)}"))


def setting_up(call: Call, name: str = "module") -> tuple[str, ...]:
    """What makes the instance, if the target has one."""
    if call.static or call.target.kind not in (MODULE, METHOD):
        return ()
    if call.module_is_class:
        return (f"{name} = {made(call)}{'' if call.module_on_cpu else '.to(device)'}",)
    return (f"thing = {made(call)}",)


def called(call: Call, name: str = "module") -> str:
    """The call itself, with the arguments by their variables."""
    given = _given(call)
    inside = ", ".join(given.values()) if call.positional else ", ".join(f"{key}={var}" for key, var in given.items())
    return f"{_callee(call, name)}({inside})"


def called_at(call: Call, device: str, name: str = "module") -> str:
    """The call with arguments that are made for a device; the script is one `as_function`."""
    star = "*" if call.positional else "**"
    return f"{_callee(call, name)}({star}arguments({device}))"


def made(call: Call) -> str:
    """The expression that constructs the instance."""
    owner = call.target.qualname.partition(".")[0]
    given = {
        key.removeprefix(INIT): written(one, call, key)
        for key, one in call.values.items()
        if key.startswith(INIT) and one["is"] != "default"
    }
    return f"{owner}({', '.join(f'{name}={text}' for name, text in given.items())})"


def leaves(values: Values) -> Iterator[tuple[str, Description]]:
    """What can be placed: tensors and Modules, by their paths; those in a loader are on the CPU as they should be."""
    for key, description in values.items():
        yield from _leaves(key, description)


def _leaves(path: str, description: Description) -> Iterator[tuple[str, Description]]:
    kind = description["is"]
    if kind in ("tensor", "module"):
        yield path, description
    elif kind in ("list", "tuple", "loader"):
        for number, each in enumerate(description["of"]):
            yield from _leaves(f"{path}[{number}]", each)
    elif kind == "dict":
        for name, each in description["of"].items():
            yield from _leaves(f"{path}[{name}]", each)
    elif kind == "instance":
        for name, each in description["with"].items():
            yield from _leaves(f"{path}.{name}", each)


def _callee(call: Call, name: str) -> str:
    if call.target.kind == MODULE:
        return name
    if call.target.kind == METHOD and not call.static:
        method = call.target.qualname.partition(".")[2]
        owner = name if call.module_is_class else "thing"
        return owner if method == "__call__" else f"{owner}.{method}"
    return call.target.qualname


def _given(call: Call) -> dict[str, str]:
    """The variable of each argument that is given."""
    return {
        key: f"{key}_" if key in _TAKEN or keyword.iskeyword(key) or key == _first_name(call) else key
        for key, one in call.values.items()
        if not key.startswith(INIT) and one["is"] != "default"
    }


def _first_name(call: Call) -> str:
    return call.target.qualname.partition(".")[0]


def _lines(script: Script) -> Iterator[str]:
    call = script.call
    given = {var: written(call.values[key], call, key) for key, var in _given(call).items()}
    yield f'"""{script.title}'
    yield ""
    yield "On a GPU: python THIS. On a simulated one: torchdevlint run -- python THIS. It runs with: python THIS cpu"
    yield '"""'
    yield ""
    text = "\n".join((*given.values(), *script.body))
    for name in sorted({"sys", *script.imports}):
        yield f"import {name}"
    yield ""
    yield "import torch"
    if call.folder:
        yield ""
        yield f"sys.path.insert(0, {call.folder!r})"
    yield f"from {call.target.module} import {_first_name(call)}"
    for module, name in sorted(_classes(call.values)):
        if (module, name) != (call.target.module, _first_name(call)):
            yield f"from {module} import {name}"
    yield ""
    if script.second:
        yield f'device, second = ("cpu", "cpu") if "cpu" in sys.argv else ("{script.device}", "{script.second}")'
    else:
        yield f'device = "cpu" if "cpu" in sys.argv else "{script.device}"'
    if "same" in text:
        yield from ("", "", "def same(value=None, *rest, **named):", "    return value", "")
    yield "torch.manual_seed(0)"
    if script.as_function:
        values = ", ".join(f'"{key}": {given[var]}' for key, var in _given(call).items())
        listed = ", ".join(given[var] for var in _given(call).values())
        yield from (
            "",
            "",
            "def arguments(device):",
            f"    return {f'[{listed}]' if call.positional else f'{{{values}}}'}",
            "",
            "",
        )
    else:
        yield from (f"{var} = {value}" for var, value in given.items())
    yield from script.body


def _classes(values: Values) -> Iterator[tuple[str, str]]:
    """The classes of which values are instances."""
    for description in values.values():
        if description["is"] == "instance":
            module, _, name = description["of"].partition(":")
            yield module, name.partition(".")[0]
            yield from _classes(description["with"])
        elif description["is"] in ("list", "tuple", "loader"):
            yield from _classes(dict(enumerate(description["of"])))  # type: ignore[arg-type]
        elif description["is"] == "dict":
            yield from _classes(description["of"])


def written(description: Description, call: Call, path: str) -> str:
    """A value as an expression."""
    kind = description["is"]
    at_first = path.startswith(INIT) and call.module_is_class  # it is moved with the Module
    if kind == "tensor":
        here = path in call.on_cpu or (at_first and f"!{path}" not in call.on_cpu) or description.get("on") == "cpu"
        return _tensor(description, here)
    if kind == "module":
        make = str(description["make"]).replace("nn.", "torch.nn.")
        return make if at_first or path in call.on_cpu else f"{make}.to(device)"
    if kind in ("list", "loader", "tuple"):
        inside = [written(each, call, f"{path}[{number}]") for number, each in enumerate(description["of"])]
        if kind == "list":
            return f"[{', '.join(inside)}]"
        if kind == "tuple":
            return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
        batch = inside[0] if len(inside) == 1 else f"({', '.join(inside)})"
        return f"[{batch}] * 2"
    if kind == "dict":
        return (
            "{"
            + ", ".join(f"{key!r}: {written(each, call, f'{path}[{key}]')}" for key, each in description["of"].items())
            + "}"
        )
    if kind == "instance":
        name = description["of"].partition(":")[2]
        given = ", ".join(
            f"{key}={written(each, call, f'{path}.{key}')}"
            for key, each in description["with"].items()
            if each["is"] != "default"
        )
        return f"{name}({given})"
    return str(_OTHERS[kind](description))


def _tensor(description: Description, here: bool) -> str:
    shape = ", ".join(map(str, description["shape"]))
    dtype, fill = description["dtype"], description.get("fill")
    told = "" if dtype in ("float32", "int64") else f", dtype=torch.{dtype}"
    size = f"({shape}{',' if len(description['shape']) == 1 else ''})"
    if fill == "ones":
        made = f"torch.ones({size}{f', dtype=torch.{dtype}' if dtype != 'float32' else ''})"
    elif fill == "lengths":
        made = f"torch.full({size}, {SIZE}{told})"
    elif dtype == "bool":
        made = f"(torch.rand({size}) > 0.5)"
    elif dtype.startswith(("float", "bfloat", "complex")):
        made = f"(torch.rand({size}{told}) + 0.1)"
    else:
        made = f"torch.randint(0, 2, {size}{told})"
    placed = made if here else f"{made}.to(device)"
    return f"{placed}.requires_grad_()" if description.get("grad") else placed


_OTHERS: dict[str, Any] = {
    "value": lambda description: repr(description["value"]),
    "device": lambda _description: "torch.device(device)",
    "function": lambda _description: "same",
    "optimizer": lambda _description: "torch.optim.SGD([torch.nn.Parameter(torch.zeros(1, device=device))], lr=0.1)",
    "generator": lambda _description: "torch.Generator(device=device).manual_seed(0)",
    "numpy": lambda description: f"torch.rand({tuple(description['shape'])!r}).numpy()",
}


def can_be_written(values: Values) -> bool:
    """Whether all values have an expression."""
    return all(_can_be_written(one) for one in values.values())


def _can_be_written(description: Description) -> bool:
    kind = description["is"]
    if kind in ("list", "tuple", "loader"):
        return all(map(_can_be_written, description["of"]))
    if kind == "dict":
        return all(map(_can_be_written, description["of"].values()))
    if kind == "instance":
        return all(map(_can_be_written, description["with"].values()))
    if kind == "value":
        return type(description["value"]) in (bool, int, float, str, type(None), list)
    return kind in ("tensor", "module", "default", *_OTHERS)
