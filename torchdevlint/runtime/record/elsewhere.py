"""Errors of another process or thread that torch raises again where their results are asked for.

Workers of a loader and replicas of `DataParallel` send what they caught as text (torch/_utils.py, `ExceptionWrapper`):
the traceback and the message are in the message of what is raised here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchdevlint.runtime.record.sites import Site, is_users

_CAUGHT = re.compile(r"\ACaught \w+ in (?P<where>.+?)\.\nOriginal Traceback \(most recent call last\):\n", re.DOTALL)
_FRAME = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE)
_MESSAGE = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*): (?P<text>.*)\Z", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`site` is the innermost line of the user's in that traceback, if any, `where` what was running it."""

    where: str
    site: Site | None
    exception: str
    text: str


def elsewhere(text: str) -> Elsewhere | None:
    """What the message of an exception tells of another one; None if it tells of none."""
    caught = _CAUGHT.match(text)
    frames = list(_FRAME.finditer(text, caught.end())) if caught is not None else []
    if caught is None or not frames:
        return None
    found = _MESSAGE.search(text, frames[-1].end())
    if found is None:
        return None
    users = [frame for frame in frames if is_users(frame["file"])]
    site = Site(users[-1]["file"], int(users[-1]["line"]), users[-1]["function"]) if users else None
    return Elsewhere(caught["where"], site, found["kind"].rpartition(".")[2], found["text"].strip())
