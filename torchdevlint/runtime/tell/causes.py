"""Which rule finds a device error without running the program, and what to do about it.

First the linter reads the files that the error and its operands name. A finding that covers one of their lines is the
cause; so is the only finding of the rule that is about an error with such a text. Otherwise the situation tells which
rule is about it: that is then said as such, since the rule did not find it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from torchdevlint import rules
from torchdevlint.config import ConfigError, Settings, load
from torchdevlint.model import Diagnostic, Severity
from torchdevlint.runtime.record.recorder import UNREGISTERED, UNTOLD, OperandStory
from torchdevlint.runtime.record.sites import Site, is_users
from torchdevlint.runtime.tell.account import DeviceError
from torchdevlint.runtime.tell.naming import text_at
from torchdevlint.symptoms import OTHERS, recognise

MIXING = ("operation", "movement", "registration")
"""What executes the findings of rules (`rules.record.EXECUTIONS`) after which operands are on different devices."""
NOT_CAUSES = frozenset({"TDL900", "TDL901", "TDL902"})


@dataclass(frozen=True, slots=True)
class Cause:
    """What an error comes from. `code` is None where no rule is about it; `diagnostic` is the linter's own finding."""

    code: str | None
    name: str
    fix: str
    diagnostic: Diagnostic | None = None
    advice: bool = False
    """The rule only advises, and is not among those that `check` runs unasked."""


def cause(error: DeviceError) -> Cause:
    """The cause of `error`. Reads the files that it names, and executes nothing."""
    wanted = _wanted(error)
    code, fix = _situation(error)
    findings = [one for one in _findings(wanted) if _may_cause(one, error)]
    found = _covering(findings, wanted) or _only_one(findings, code)
    if found is not None:
        return Cause(found.code, found.name, found.help or fix, found)
    rule = rules.by_code().get(code or "")
    if rule is None:
        return Cause(None, "", fix)
    return Cause(rule.code, rule.name, fix, advice=rule.severity is Severity.ADVICE)


def _wanted(error: DeviceError) -> list[Site]:
    """The lines by which an error is attributed: where the operand to be repaired was moved in vain or made, and its
    own. What is found where the other operands come from is about something else.
    """
    stray = _stray(error)
    wanted: list[Site] = []
    for site in (stray and stray.lost, stray and stray.created, error.site, stray and stray.moved):
        wanted += _lines(site)
    if stray is None:
        for operand in error.operands:
            wanted += [*_lines(operand.created), *_lines(operand.moved)]
    return wanted


def _may_cause(diagnostic: Diagnostic, error: DeviceError) -> bool:
    """Whether such errors are what the rule of a finding is about."""
    recognised = recognise(error.text)
    if recognised is not None and (recognised.symptom.group == OTHERS or diagnostic.code in recognised.symptom.rules):
        return diagnostic.code in recognised.symptom.rules
    return rules.by_code()[diagnostic.code].execution in MIXING


def _findings(wanted: Sequence[Site]) -> list[Diagnostic]:
    """All that the linter finds in the user's files among these."""
    files = sorted({site.filename for site in wanted if is_users(site.filename) and Path(site.filename).is_file()})
    return [one for file in files for one in _checked(file)]


def _covering(findings: Sequence[Diagnostic], wanted: Sequence[Site]) -> Diagnostic | None:
    """The finding that covers a line of the error: best one that starts where the first of them is."""
    for covers in (_starts_at, _tells_of):
        for site in wanted:
            for diagnostic in findings:
                if covers(diagnostic, site):
                    return diagnostic
    return None


@cache
def _checked(file: str) -> tuple[Diagnostic, ...]:
    """All findings in a file, those of rules in preview as well. Settings that cannot be read do not matter here."""
    from msgspec.structs import replace

    from torchdevlint.engine import check_file

    try:
        settings = load(Path(file))
    except (ConfigError, OSError):
        settings = Settings()
    result = check_file(file, replace(settings, preview=True))
    return tuple(
        one for one in result.diagnostics if one.code not in NOT_CAUSES and one.severity is not Severity.ADVICE
    )


def _only_one(findings: Sequence[Diagnostic], code: str | None) -> Diagnostic | None:
    """The only finding of the rule that the error is about."""
    of_rule = [one for one in findings if one.code == code]
    return of_rule[0] if len(of_rule) == 1 else None


def _starts_at(diagnostic: Diagnostic, site: Site) -> bool:
    return diagnostic.filename == site.filename and diagnostic.span.row <= site.line <= diagnostic.span.end_row


def _tells_of(diagnostic: Diagnostic, site: Site) -> bool:
    related = ((one.filename, one.span) for one in diagnostic.related)
    return any(name == site.filename and span.row <= site.line <= span.end_row for name, span in related)


def _lines(place: object) -> Iterator[Site]:
    if isinstance(place, Site):
        yield place
        if place.inside is not None:
            yield place.inside


FIXES = {
    "": "move the Module that holds it: `{module}.to({device})`",
    "TDL001": "assign what the move gives: `{name} = {name}.to({device})`; a tensor's `.to` does not change the tensor",
    "TDL003": "make the tensor where the model is: give its factory `device={device}`, or use `x.new_zeros(...)`",
    "TDL005": "move the batch to where the model is: `{name} = {name}.to({device})`",
    "TDL203": "move the model before the optimizer makes or loads its state, or load that state again after the move",
    "TDL008": "add to a new tensor (`total = total + value`), or make the total with `device={device}`",
    "TDL010": "move the loss to where the model is, as its weight is a buffer: `criterion.to({device})`",
    "TDL014": "make the tensor where the argument is: give its factory `device={device}`",
    "TDL101": 'register the tensor, so that `.to` moves it with the module: `self.register_buffer("name", tensor)`',
    "TDL102": "keep the modules in a `torch.nn.ModuleList` or `ModuleDict`, so that `.to` moves them",
}
MOVE = "move it: `{name} = {name}.to({device})`"
FACTORIES = "arange as_tensor empty eye full linspace logspace ones rand randint randn randperm tensor zeros".split()
INSTEAD = {
    "load": ("map_location", ", or load it with `map_location={device}`"),
    **dict.fromkeys(FACTORIES, ("device", ", or create it with `device={device}`")),
}
"""By what made a tensor, the argument that says where, and the advice to give one."""
NOTHING = "bring all operands to one device before this line"


def _situation(error: DeviceError) -> tuple[str | None, str]:
    """The rule that is about such an error, and a sentence on what to do."""
    said = _of_text(error)
    if said is not None:
        return said
    stray = _stray(error)
    if stray is None:
        return None, NOTHING
    fitting = next((rule for rule, fits in SITUATIONS if fits(error, stray)), None)
    return fitting or None, _filled(_move(stray) if fitting is None else FIXES[fitting], error, stray)


def _move(stray: OperandStory) -> str:
    """What to do in general. Nobody is told to write what the line has."""
    made = text_at(stray.created) if isinstance(stray.created, Site) else ""
    argument, advice = INSTEAD.get(stray.how, ("", ""))
    return MOVE if not made or argument in made else MOVE + advice


def _of_text(error: DeviceError) -> tuple[str | None, str] | None:
    """What the text alone says, where it says which rule it is, or that it is about something else than places."""
    recognised = recognise(error.text)
    if recognised is None:
        return None
    symptom = recognised.symptom
    if symptom.sure:
        return symptom.rules[0], symptom.help
    return (None, symptom.help) if symptom.group == OTHERS else None


def _filled(text: str, error: DeviceError, stray: OperandStory) -> str:
    other = next((one for one in error.operands if one.device != stray.device), None)
    device = f"{other.variable}.device" if other is not None and _assignable(other.variable) else "device"
    name = stray.variable if _assignable(stray.variable) else "tensor"
    module = stray.variable.partition(".")[0].partition("[")[0] if stray.owner else ""
    return text.format(name=name, device=device, module=module if module not in ("", "self") else "model")


def _assignable(name: str) -> bool:
    """Whether a name is a variable, an attribute or an item of one, and no other expression."""
    if UNTOLD in name:
        return False
    try:
        return isinstance(ast.parse(name, mode="eval").body, (ast.Name, ast.Attribute, ast.Subscript))
    except (SyntaxError, ValueError):
        return False


def _stray(error: DeviceError) -> OperandStory | None:
    """The operand that is most likely where it should not be: on the CPU among others, else the last one."""
    devices = {operand.device for operand in error.operands}
    if len(devices) < 2:
        return None
    behind = [operand for operand in error.operands if operand.device.partition(":")[0] == "cpu"]
    if not behind:
        return next(one for one in reversed(error.operands) if one.device != error.operands[0].device)
    return next((operand for operand in behind if operand.lost is not None), behind[0])


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a line is in: the innermost function and the class of which that is a method."""

    function: ast.FunctionDef | ast.AsyncFunctionDef | None
    of_module: bool

    @property
    def in_init(self) -> bool:
        return self.of_module and self.function is not None and self.function.name == "__init__"


def _made_in(operand: OperandStory) -> _Scope:
    site = operand.created
    if not isinstance(site, Site) or not is_users(site.filename):
        return _Scope(None, False)
    return _scope(site.filename, site.line)


@cache
def _scope(filename: str, line: int) -> _Scope:
    try:
        tree = ast.parse(Path(filename).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return _Scope(None, False)
    function: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    of_module = False
    node: ast.AST = tree
    while True:
        inner = next((one for one in _definitions(node) if one.lineno <= line <= (one.end_lineno or 0)), None)
        if inner is None:
            return _Scope(function, of_module and function is not None)
        if isinstance(inner, ast.ClassDef):
            of_module = _is_module(inner)
        else:
            function = inner
        node = inner


def _definitions(node: ast.AST) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield child
        elif isinstance(child, ast.stmt):
            yield from _definitions(child)


def _is_module(node: ast.ClassDef) -> bool:
    bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
    return any(base.endswith(("Module", "Model", "Layer")) for base in bases)


def _from_loader(error: DeviceError, stray: OperandStory) -> bool:
    site = stray.created
    return (
        isinstance(site, Site)
        and any(f"{part}utils{part}data{part}" in (site.inside or site).filename for part in "/\\")
    ) or ("__getitem__" in getattr(site, "function", "") or "collate" in getattr(site, "function", ""))


def _in_function(error: DeviceError, stray: OperandStory) -> bool:
    """Made in the very function, outside of Modules, that combines it with one of its arguments."""
    scope = _made_in(stray)
    same = error.site is not None and isinstance(stray.created, Site) and error.site.function == stray.created.function
    arguments = scope.function is not None and bool(scope.function.args.args)
    return same and arguments and not scope.of_module


def _of_loss(error: DeviceError, stray: OperandStory) -> bool:
    return stray.name in ("weight", "pos_weight") and bool(re.search(r"loss|entropy", error.operation))


SITUATIONS: Sequence[tuple[str, Callable[[DeviceError, OperandStory], bool]]] = (
    ("TDL203", lambda error, stray: f".state[{UNTOLD}]" in stray.variable),
    ("TDL001", lambda error, stray: stray.lost is not None),
    ("TDL010", _of_loss),
    ("TDL102", lambda error, stray: stray.owner == UNREGISTERED),
    ("", lambda error, stray: stray.owner in ("parameter", "buffer")),
    ("TDL101", lambda error, stray: _made_in(stray).in_init),
    ("TDL003", lambda error, stray: _made_in(stray).of_module),
    ("TDL008", lambda error, stray: not stray.shape and stray == error.operands[0] and error.operation.endswith("_")),
    ("TDL014", _in_function),
    ("TDL005", _from_loader),
)
"""The first that fits; the empty code is a Module that was not moved, of which no rule speaks."""
