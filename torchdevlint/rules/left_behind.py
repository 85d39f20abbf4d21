"""What TDL310 says of code that leaves something behind, where it moves the rest or asks for a place. Not a rule."""

from __future__ import annotations

from torchdevlint.flow.facts.devices import DeviceNotForwarded, LeftBehind
from torchdevlint.model import Note, Report
from torchdevlint.rules.wording import code, edit

_LATER = "nothing raises here: what is left behind meets what was moved later"
_ON_CPU = "nothing raises here: what is on the CPU meets what is on the accelerator later"
_ELSEWHERE = "nothing raises here: all is on a device that the caller did not ask for"
_NOT_MOVED = "nothing raises here: where no device is told, nothing is moved"
_RAISES = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices"


def of_left(fact: LeftBehind) -> Report:
    """The report of what is left where it is, while what it belongs with is moved."""
    function, left, move = code(fact.function), code(fact.left), code(fact.move)
    moved, as_well = Note("this is moved", fact.move_at), f"move {left} as well"
    if fact.among == "arm":
        said = f"{function} moves what it is given, but gives {left} back where it is"
        others = Note(f"{move} moves what comes in another case", fact.move_at)
        return _report(fact, said, "move it as the other cases do", others)
    if fact.among == "asked":
        return _report(fact, f"{function} asks {move}, and leaves {left} where it is", f"move {left} there")
    if fact.among == "beside":
        return _report(fact, f"{function} moves others by {move}, and leaves {left} where it is", as_well, moved)
    if fact.among == "twin":
        said = f"{function} gives a model {left} as it came, and another method moves it by {move}"
        return _report(fact, said, as_well, moved, symptom=_RAISES)
    if fact.among == "calls":
        said = f"{function} leaves {left} where it is, and what the same call gives elsewhere is moved by {move}"
        return _report(fact, said, as_well, moved)
    if fact.among == "makers":
        said = f"{function} gives {left} where it is, and another method moves what it gives by {move}"
        return _report(fact, said, as_well, moved)
    if fact.among == "typed":
        said = f"{function} brings {left} to the dtype of {move} and not to its device, and puts it into the same model"
        return _report(fact, said, f"append `.to({fact.move}.device)`", Note("this has the dtype", fact.move_at))
    if fact.among == "cases":
        said = f"{function} moves what it makes by {move}, and leaves {left} of another case where it is"
        return _report(fact, said, as_well, moved)
    return _report(fact, f"{function} moves some tensors of the object, and leaves {left} where it is", as_well)


def of_part(fact: DeviceNotForwarded) -> Report:
    """The report of a device that is read nowhere, where more is to be done than to hand it on."""
    function, target, parameter = code(fact.function), code(fact.target), code(fact.parameter)
    unread = Note(f"{parameter} is used nowhere in {function}", fact.parameter_at)
    written = f"write {edit(fact.suggestion)}"
    if fact.kind == "asked":
        given = code(f"{fact.text}()")
        said = f"{function} asks where {target} is, and gives {given} what may be elsewhere"
        return _report(fact, said, written, unread, symptom=_RAISES)
    if fact.kind == "mover":
        said = f"{function} is to move something to {parameter}, and never reads it"
        return _report(fact, said, f"move what it gives or keeps to {parameter}")
    if fact.kind == "chosen":
        said = f"{function} is told {parameter} and does not use it: it chooses {target} itself"
        return _report(fact, said, f"choose only where {parameter} is None", unread, symptom=_ELSEWHERE)
    if fact.kind == "brought":
        asks = f"asks for {code(fact.text)} and never reads it"
        said = f"{function} {asks if fact.text else f'brings {target} to the CPU'}, and returns what is on the CPU"
        brought = unread if fact.text else Note(f"{target} is brought here", fact.parameter_at)
        return _report(fact, said, written, brought, symptom=_ON_CPU)
    if fact.kind == "fallback":
        said = f"{function} moves to {parameter}, which may be None, where {target} has a default"
        return _report(fact, said, written, Note("this is the default", fact.parameter_at), symptom=_NOT_MOVED)
    if fact.kind in ("forgotten", "dropped"):
        said = f"{function} takes {parameter} and does not hand it on to {target}"
        notes = [Note(f"{parameter} is handed on here", fact.parameter_at)] if fact.kind == "forgotten" else []
        return _report(fact, said, f"hand {parameter} on there", *notes, symptom=_ELSEWHERE)
    told = f"asks for {code(fact.text)}" if fact.text != fact.parameter else f"takes {parameter}"
    said = f"{function} {told} and never reads it, and {target} makes a tensor on the CPU"
    return _report(fact, said, f"{written} there, or move the result", unread, symptom=_RAISES)


def _report(
    fact: LeftBehind | DeviceNotForwarded, message: str, remedy: str, *notes: Note, symptom: str = _LATER
) -> Report:
    return Report(span=fact.at, message=message, symptom=symptom, help=remedy, notes=notes, fix=None)
