"""What a GPU did with the programs: a file for each GPU and release of torch, and whether the simulation agrees."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.truth.normalise import normalise

FOLDER = Path(__file__).parent / "recorded"
AGREES, WORDS, MISSED, FALSE_ALARM, DEVICES = "agrees", "words", "missed", "false alarm", "devices"
Outcome = Mapping[str, Any]


def read_lines(path: Path) -> dict[str, Outcome]:
    """What `run` has written, by the ids of the programs."""
    return {row.pop("id"): row for row in map(json.loads, path.read_text("utf-8").splitlines())}


def write(path: Path, stamp: Mapping[str, str], outcomes: Mapping[str, Outcome]) -> None:
    """Outcomes are numbered, since there are few hundred different ones of many thousand programs."""
    told = {name: _told(one) for name, one in sorted(outcomes.items())}
    numbers = {text: number for number, text in enumerate(sorted(set(told.values())))}
    entries: dict[str, dict[str, int]] = {}
    for name, text in told.items():
        kind, entry, program = name.split("/", 2)
        entries.setdefault(f"{kind}/{entry}", {})[program] = numbers[text]
    lines = [f"{json.dumps(name)}: {json.dumps(programs)}" for name, programs in entries.items()]
    head = json.dumps({**stamp, "outcomes": [json.loads(text) for text in numbers]}, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{head[:-2]},\n "entries": {{\n' + ",\n".join(lines) + "\n }\n}\n", "utf-8")


def read(path: Path) -> tuple[dict[str, str], dict[str, Outcome]]:
    data = json.loads(path.read_text("utf-8"))
    outcomes = data.pop("outcomes")
    programs = {
        f"{entry}/{program}": outcomes[number]
        for entry, numbers in data.pop("entries").items()
        for program, number in numbers.items()
    }
    return data, programs


def _told(one: Outcome) -> str:
    text = re.sub(r"\b0x[0-9a-f]+", "0x", normalise(str(one.get("text", ""))))
    return json.dumps({"raises": one["raises"], "text": text} if "raises" in one else {"devices": one["devices"]})


def judge(real: Outcome, simulated: Outcome) -> str:
    """How a simulated outcome compares with a recorded one, as `write` keeps it."""
    if "devices" in real and "devices" in simulated:
        return AGREES if real["devices"] == simulated["devices"] else DEVICES
    if "raises" in real and "raises" in simulated:
        return AGREES if json.dumps(real) == _told(simulated) else WORDS
    return MISSED if "raises" in real else FALSE_ALARM


def compare(real: Mapping[str, Outcome], simulated: Mapping[str, Outcome]) -> dict[str, list[str]]:
    """The ids of the programs that are in both, by verdict. Samples of another release may be others."""
    found: dict[str, list[str]] = {verdict: [] for verdict in (AGREES, WORDS, MISSED, FALSE_ALARM, DEVICES)}
    for name in _both(real, simulated):
        found[judge(real[name], simulated[name])].append(name)
    return found


def _both(real: Iterable[str], simulated: Mapping[str, Outcome]) -> list[str]:
    return [name for name in real if name in simulated]
