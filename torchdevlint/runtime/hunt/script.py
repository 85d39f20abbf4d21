"""The program that is executed, as a script that a user can run: there is no other way in which a target is called.

``python script.py`` runs it on a GPU, ``python script.py cpu`` on the CPU, and ``torchdevlint run -- python script.py``
on simulated accelerators.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping

from msgspec import Struct

from torchdevlint.runtime.execute.called import BEFORE, INIT, METHOD, MODULE, RECEIVER, Values, is_argument
from torchdevlint.runtime.hunt.targets import Target
from torchdevlint.runtime.hunt.written import Writer, imported

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
        return (f"{name} = {made(call)}{'' if call.module_on_cpu else '.to(device)'}", *_before(call, name))
    return (f"thing = {made(call)}", *_before(call, "thing"))


def called(call: Call, name: str = "module") -> str:
    """The call itself, with the arguments by their variables."""
    listed, named = _arguments(call, _given(call))
    inside = [*listed, *(each if key.startswith("**") else f"{key}={each}" for key, each in named.items())]
    return f"{_callee(call, name)}({', '.join(inside)})"


def called_at(call: Call, device: str, name: str = "module") -> str:
    """The call with arguments that are made for a device; the script is one `as_function`."""
    listed, _ = _arguments(call, _given(call))
    return f"{_callee(call, name)}({'*' if listed else '**'}arguments({device}))"


def has_one_form(call: Call) -> bool:
    """Whether its arguments are given by their places all, or by their names all: the others cannot be a function's."""
    listed, named = _arguments(call, _given(call))
    return not listed or not named


def _arguments(call: Call, texts: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The arguments that are given by their place, with those that ``*args`` takes, and those given by name."""
    starred = [number for number, key in enumerate(texts) if key.startswith("*") and not key.startswith("**")]
    last = len(texts) if call.positional else starred[0] + 1 if starred else 0
    listed = [f"*{text}" if key.startswith("*") else text for key, text in list(texts.items())[:last]]
    named = {key: f"**{text}" if key.startswith("**") else text for key, text in list(texts.items())[last:]}
    return listed, named


def made(call: Call) -> str:
    """The expression that constructs the instance."""
    write = Writer(call.on_cpu, call.module_is_class)
    if RECEIVER in call.values:
        return write.instance(call.values[RECEIVER], RECEIVER)
    given = {
        key.removeprefix(INIT): write.value(one, key)
        for key, one in call.values.items()
        if key.startswith(INIT) and one["is"] != "default"
    }
    each = (f"{name[:2]}{text}" if name.startswith("**") else f"{name}={text}" for name, text in given.items())
    return f"{_first_name(call)}({', '.join(each)})"


def _before(call: Call, name: str) -> Iterator[str]:
    """The calls that the instance got before."""
    write = Writer(call.on_cpu, call.module_is_class)
    for key, one in call.values.items():
        if key.startswith(BEFORE) and one["is"] != "default":
            method = "" if one["method"] in ("forward", "__call__") else f".{one['method']}"
            yield f"{name}{method}({write.given(one, key)})"


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
    taken = {*_TAKEN, _first_name(call), *(name for _, name in imported(call.values))}
    found = {}
    for key, one in call.values.items():
        if is_argument(key) and one["is"] != "default":
            name = key.lstrip("*")
            found[key] = f"{name}_" if name in taken or keyword.iskeyword(name) else name
    return found


def variables(call: Call) -> list[str]:
    """The variables of the arguments that are given."""
    return list(_given(call).values())


def _first_name(call: Call) -> str:
    return call.target.qualname.partition(".")[0]


def _lines(script: Script) -> Iterator[str]:
    call = script.call
    write = Writer(call.on_cpu, call.module_is_class)
    given = {var: write.value(call.values[key], key) for key, var in _given(call).items()}
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
    if RECEIVER not in call.values:
        yield f"from {call.target.module} import {_first_name(call)}"
    for module, name in sorted(imported(call.values)):
        if RECEIVER in call.values or (module, name) != (call.target.module, _first_name(call)):
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
        listed, named = _arguments(call, {key: given[var] for key, var in _given(call).items()})
        values = ", ".join(text if key.startswith("**") else f'"{key}": {text}' for key, text in named.items())
        made_of = f"[{', '.join(listed)}]" if listed else f"{{{values}}}"
        yield from ("", "", "def arguments(device):", f"    return {made_of}", "", "")
    else:
        yield from (f"{var} = {value}" for var, value in given.items())
    yield from script.body
