"""What PyTorch says when something is in the wrong place: its texts, what they mean, and the rules that are about them.

This is the one home of such texts. `torchdevlint explain` recognises a pasted error by it, `torchdevlint run` looks up
what an exception is about, and ``docs/errors.md`` is written from it; it needs neither torch nor the linter.

A *symptom* is one thing that is wrong. It has several *wordings*: by release, by operation, by kind of accelerator.
The tables are in the modules of `TABLES`; a table holds one or more sections of the page.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import NamedTuple

TABLES = ("placement", "demands", "checkpoints", "naming", "processes", "machines", "modules", "others")
"""The modules with the symptoms, in the order in which they are tried: what is about devices comes first."""
GROUPS = {
    "devices": "Tensors on different devices",
    "host": "NumPy and the CPU",
    "checkpoints": "Checkpoints",
    "naming": "Naming a device",
    "processes": "Processes and visible devices",
    "several": "Several GPUs",
    "build": "Driver and build",
    "mps": "Apple's GPU",
    "modules": "Modules, parameters and gradients",
    "deprecated": "Deprecated",
    "others": "Errors that are about something else",
}
"""The sections of the page, and their titles."""
OTHERS = "others"
"""The section of errors that people take for device errors."""
URL = "https://torchdevlint.readthedocs.io/en/latest/errors/"


class Wording(NamedTuple):
    """One way of saying it.

    `pattern` is searched for in an exception's text of which all white space is one blank. Its named groups are
    ``argument`` and ``position`` (the operand at fault, as PyTorch calls it and counts it), ``device`` (where that
    operand is), ``other`` (where the others are, or where it was expected) and ``operation``; none of them is required.
    `example` is a text as people paste it, with the class of the exception; `releases` says in which releases of
    PyTorch, and `source` where in PyTorch's own sources, or in those of another library, it is made.
    """

    pattern: str
    example: str
    releases: str = ""
    source: str = ""


class Symptom(NamedTuple):
    """One thing that is wrong. `name` is its anchor on the page and never changes.

    `rules` find the code that makes it so, the most frequent cause first. `sure` says that the text alone tells that
    the first of them is about it. A symptom with `beside` is one only if that pattern is found in the line that raised
    it: its text is Python's own, and says nothing of devices.
    """

    name: str
    group: str
    meaning: str
    help: str
    rules: tuple[str, ...]
    wordings: tuple[Wording, ...]
    sure: bool = False
    beside: str = ""

    @property
    def url(self) -> str:
        return f"{URL}#{self.name}"

    @property
    def is_of_devices(self) -> bool:
        return self.group != OTHERS


class Recognised(NamedTuple):
    """A symptom in a text, and what the text says of the case; what it does not say is empty."""

    symptom: Symptom
    wording: Wording
    argument: str = ""
    position: str = ""
    device: str = ""
    other: str = ""
    operation: str = ""


@cache
def symptoms() -> tuple[Symptom, ...]:
    """All of them, in the order in which they are tried."""
    return tuple(one for table in TABLES for one in import_module(f"{__name__}.{table}").SYMPTOMS)


@cache
def by_name() -> dict[str, Symptom]:
    return {one.name: one for one in symptoms()}


def recognise(text: str, line: str | None = None) -> Recognised | None:
    """What the text of an exception is about; `line` is the line that raised it, None if that is not known.

    The first wording of the tables that is found. Time is linear in the length of `text`.
    """
    text = flat(text)
    for symptom, wordings in _compiled():
        if symptom.beside and not (line and re.search(symptom.beside, line)):
            continue
        for wording, pattern in wordings:
            found = pattern.search(text)
            if found is not None:
                said = _canonical({name: value for name, value in found.groupdict().items() if value})
                if "device" not in said or said["device"] != said.get("other"):  # else it is about types of numbers
                    return Recognised(symptom, wording, **said)
    return None


def is_of_places(text: str) -> bool:
    """Whether an exception says that something is on another device than it should be, or that its device is not there.

    Such an exception of a running program is a device error by its text alone.
    """
    found = recognise(text)
    return found is not None and (found.symptom.group in _PLACES or found.symptom.name in _MACHINES)


_PLACES = frozenset({"devices", "host", "build"})
_MACHINES = frozenset(
    {
        "deserialize",
        "deserialize-ordinal",
        "forked",
        "ordinal",
        "data-parallel-device",
        "ddp-devices",
        "mps-placeholder",
    }
)


def flat(text: str) -> str:
    """`text` with one blank for all white space between words, and plain quotes, as forums and editors bend them."""
    return " ".join(text.translate(_PLAIN).split())


_PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\uff1a": ": "})


def _canonical(groups: dict[str, str]) -> dict[str, str]:
    """The groups of a text in the words of all: the names of devices instead of those of types and back-ends."""
    for name in ("device", "other"):
        if name in groups:
            groups[name] = device_of(groups[name])
    if "operation" in groups:
        groups["operation"] = re.sub(
            r"^(?:wrapper_{1,3}(?:CUDA|MPS|XPU|CompositeExplicitAutograd)?_{0,3}|_th_)", "", groups["operation"]
        )
    return groups


_WRAPPER = re.compile(r"^(?:wrapper_+(?:(?:CUDA|MPS|XPU|CompositeExplicitAutograd)_+)?|_th_)")
_TYPE = re.compile(r"^(?:torch\.)?(?:(?P<kind>cuda|xpu|hpu|mps)\.)?\w*(?:Tensor|Type)$")
_BACKEND = re.compile(r"^(?P<kind>MPS|XPU|HPU|CUDA)(?:\w*Type)?$|^(?P<cpu>CPU)$|^GPU$")


def device_of(text: str) -> str:
    """A device as PyTorch writes it, for the name of a device, of a tensor's type or of a back-end."""
    back_end = _BACKEND.match(text)
    if back_end is not None:
        return "cpu" if back_end["cpu"] else (back_end["kind"] or "cuda").lower()
    kind = _TYPE.match(text)
    return (kind["kind"] or "cpu") if kind is not None else text


@cache
def _compiled() -> tuple[tuple[Symptom, tuple[tuple[Wording, re.Pattern[str]], ...]], ...]:
    return tuple((one, tuple((each, re.compile(each.pattern)) for each in one.wordings)) for one in symptoms())
