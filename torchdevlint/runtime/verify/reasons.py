"""Why findings stay inconclusive, in groups: each reason in one line, with what the user can do about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST = 110
ENTRY = 'give it an entry of yours: --with-command "pytest tests/...", or `examples` in the configuration'


@dataclass(frozen=True, slots=True)
class Why:
    """One reason. `group` is what reasons of the same kind have in common, `advice` what would help, or empty."""

    group: str
    advice: str
    text: str


_NEEDS = "the module needs `\\1`, which is not installed here"
_SURROUNDED = (
    r"taken out|about arrays of|the slice does not run|handles exceptions|asks where something|sets a default"
    r"|says itself how"
)
_BY_ITSELF = r"by itself|arguments of the load|not torch's own|the devices changed|may be meant|is no (call|statement)"
_NOT_IN_RESULT = r"nothing that the flagged|what it returns holds|else that it returns"
_NOT_CALLED = r"is asynchronous|is abstract|is no constructor|is not there after|in no function or method"
_GROUPS: tuple[tuple[str, str, str], ...] = (
    (r"importing `[^`]+` needs `(\w+)[^`]*`[^(]*\((.*)\)$", _NEEDS, r"\2"),
    (r"is here without its part", "a part of its package is missing, which may have to be built", "build the package"),
    (r"importing `[^`]+` fails", "importing the module fails", "import it in this environment, and see why"),
    (r"cannot be imported: ", "an entry of `examples` cannot be imported", "see what importing it says"),
    (r"^the command ", "the command says nothing of it", "choose a command that runs it, and ends with 0"),
    (r"timed out: ", "the time was over", "--timeout SECONDS allows more"),
    (r"cannot do this: ", "a simulated accelerator cannot do what it needs", "run it on real hardware: --device cuda"),
    (r" died: |gave no answer|was stopped", "the process that executes it was ended", ENTRY),
    (r"another device error comes first", "another device error comes first", "put that one right, and run this again"),
    (r"ends with another error", "it fails on the accelerator for another reason", ENTRY),
    (r"no values were found", "no values were found with which it runs", ENTRY),
    (r"gets its arguments from", "only its callers know its arguments", ENTRY),
    (r"did not meet|does not come to|did not run to its", "the operands of the finding did not meet", ENTRY),
    (_NOT_IN_RESULT, "what it makes is not in its result", ENTRY),
    (r"stand-in", "it ran with a stand-in for what is not known", ENTRY),
    (r"0-dim tensor", "it ran with a tensor of no dimensions, which may be elsewhere", ENTRY),
    (r"holds no tensor|nothing to move|nothing was saved", "there was nothing to see in it", ENTRY),
    (_NOT_CALLED, "it cannot be called by itself", ENTRY),
    (r"nothing was raised", "it ran, and nothing was raised", ENTRY),
    (_SURROUNDED, "what surrounds it may put it right", ENTRY),
    (_BY_ITSELF, "the statement shows nothing by itself", ENTRY),
    (r"your code was not executed", "only the rule's own program is executed for it", ""),
    (r"text of the source", "the rule is about text, and there is nothing to execute", ""),
    (r"part of the program only", "a part of the program ran well, which refutes nothing", ENTRY),
    (r"there is no example for ", "there is no entry for it in `examples`", ENTRY),
)
"""The reason as the rungs give it, its group and the advice, the most telling first."""


def why(texts: Iterable[str]) -> Why:
    """The most telling of several reasons, of which some may be several in one, with ``;`` between them."""
    parts = [part.strip() for text in texts for part in text.split("; ") if part.strip()]
    for pattern, group, advice in _GROUPS:
        for part in parts:
            found = re.search(pattern, part)
            if found is not None:
                return Why(found.expand(group), found.expand(advice), _one_line(part))
    text = parts[0] if parts else "nothing was executed"
    return Why("other reasons", ENTRY, _one_line(text))


def grouped(reasons: Iterable[Why]) -> list[tuple[int, Why]]:
    """How often each group is given, the most frequent first, with the first of its reasons."""
    every = list(reasons)
    counts = Counter(each.group for each in every)
    first = {each.group: each for each in reversed(every)}
    return sorted(((count, first[group]) for group, count in counts.items()), key=lambda one: (-one[0], one[1].group))


def _one_line(text: str) -> str:
    clean = " ".join(text.split())
    return clean if len(clean) <= LONGEST else clean[: LONGEST - 3].rstrip() + "..."
