"""What TDL310 says of code that leaves something behind, where it moves the rest or asks for a place. Not a rule."""

from __future__ import annotations

from torchdevlint.flow.facts.devices import DeviceNotForwarded
from torchdevlint.model import Note, Report
from torchdevlint.rules.wording import code, edit

_SYMPTOM = "nothing raises here: what is left behind meets what was moved later"


def of_part(fact: DeviceNotForwarded) -> Report:
    """The report of an arm of a function, of an attribute of an object, or of an argument that a model is given."""
    if fact.kind == "arm":
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} moves what it is given, but gives {code(fact.target)} back where it is",
            symptom=_SYMPTOM,
            help="move it as the other cases do",
            notes=(Note(f"{code(fact.parameter)} moves what comes in another case", fact.parameter_at),),
            fix=None,
        )
    if fact.kind == "apart":
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} asks {code(fact.parameter)}, and leaves {code(fact.target)} where it is",
            symptom=_SYMPTOM,
            help=f"move {code(fact.target)} there",
            notes=(),
            fix=None,
        )
    unread = Note(f"{code(fact.parameter)} is not read anywhere in {code(fact.function)}", fact.parameter_at)
    if fact.kind == "asked":
        given = code(f"{fact.text}()")
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} asks where {code(fact.target)} is, and gives {given} what may be elsewhere",
            symptom="RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
            help=f"write {edit(fact.suggestion)}",
            notes=(unread,),
            fix=None,
        )
    if fact.kind == "mover":
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} is to move something to {code(fact.parameter)}, and never reads it",
            symptom=_SYMPTOM,
            help=f"move what it gives or keeps to {code(fact.parameter)}",
            notes=(),
            fix=None,
        )
    if fact.kind == "brought":
        asks = f"asks for {code(fact.text)} and never reads it"
        does = asks if fact.text else f"brings {code(fact.target)} to the CPU"
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} {does}, and returns what is on the CPU",
            symptom="RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
            help=f"write {edit(fact.suggestion)}",
            notes=(unread,) if fact.text else (Note(f"{code(fact.target)} is brought here", fact.parameter_at),),
            fix=None,
        )
    if fact.kind == "unread":
        told = f"asks for {code(fact.text)}" if fact.text != fact.parameter else f"takes {code(fact.parameter)}"
        made = f"{code(fact.target)} makes a tensor on the CPU"
        return Report(
            span=fact.at,
            message=f"{code(fact.function)} {told} and never reads it, and {made}",
            symptom="RuntimeError: Expected all tensors to be on the same device, but found at least two devices",
            help=f"write {edit(fact.suggestion)} there, or move the result",
            notes=(unread,),
            fix=None,
        )
    return Report(
        span=fact.at,
        message=f"{code(fact.function)} moves some tensors of the object, and leaves {code(fact.target)} where it is",
        symptom=_SYMPTOM,
        help=f"move {code(fact.target)} as well",
        notes=(),
        fix=None,
    )
