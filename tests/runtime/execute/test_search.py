"""The search for values: bounded, the same every time, and after the flagged statement."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="errors of torch say what to change")

from tests.conftest import python  # noqa: E402
from torchdevlint.runtime.execute.search import MOST_RUNS, Found, Run, Values, search  # noqa: E402
from torchdevlint.runtime.execute.slots import Slot  # noqa: E402
from torchdevlint.runtime.execute.values import DEFAULT, Setting, build, tensor, value  # noqa: E402

CPU = torch.device("cpu")
HERE = Setting(CPU, CPU, CPU)


def slot(key: str, *candidates: dict[str, Any], optional: bool = False) -> Slot:
    return Slot(key, key, candidates, optional)


def looking(
    function: Callable[..., set[int]], *slots: Slot, wanted: tuple[int, ...] = (), most: int = MOST_RUNS
) -> tuple[Found, list[Values]]:
    """The outcome and all that was tried; `function` gives the rows that it came to, or raises."""
    tried: list[Values] = []

    def run(values: Values) -> Run:
        tried.append(values)
        given = {key: build(one, HERE) for key, one in values.items() if one["is"] != "default"}
        rows: set[int] = set()
        try:
            rows |= function(rows, **given)
        except Exception as error:  # noqa: BLE001 (as the program under test does)
            return Run(error, frozenset(rows))
        return Run(None, frozenset(rows))

    return search(slots, run, [frozenset({row}) for row in wanted], most), tried


def test_the_first_candidates_are_taken_if_they_run() -> None:
    found, tried = looking(lambda rows, x: {1}, slot("x", value(1), value(2)), wanted=(1,))
    assert (found.values, found.runs) == ({"x": value(1)}, 1)
    assert len(tried) == 1


def test_what_torch_complains_of_is_repaired() -> None:
    layer = torch.nn.Linear(5, 2)

    def program(rows: set[int], x: Any, y: Any) -> set[int]:
        rows.add(1)
        layer(x) + y
        return {2}

    found, _ = looking(program, slot("x", tensor(8, 8)), slot("y", tensor(8, 3)), wanted=(1, 2))
    assert found.values is not None
    assert found.values["x"]["shape"] == [8, 5]
    assert found.values["y"]["shape"][-1] in (1, 2)
    assert found.runs < 40


def test_it_goes_on_until_it_comes_to_every_wanted_statement() -> None:
    def program(rows: set[int], mode: str, flag: bool) -> set[int]:
        return {1} | ({2} if mode == "b" else set()) | ({3} if flag else set())

    slots = slot("mode", value("a"), value("b")), slot("flag", value(False), value(True))
    found, _ = looking(program, *slots, wanted=(2, 3))
    assert found.values == {"mode": value("b"), "flag": value(True)}
    found, _ = looking(program, *slots, wanted=(2,))
    assert found.values == {"mode": value("b"), "flag": value(False)}


def test_an_optional_parameter_is_given_only_where_that_leads_there() -> None:
    def program(rows: set[int], mask: Any = None) -> set[int]:
        return {1} if mask is None else {1, 2}

    mask = slot("mask", DEFAULT, tensor(8), optional=True)
    found, _ = looking(program, mask, wanted=(1,))
    assert found.values == {"mask": DEFAULT}
    found, _ = looking(program, mask, wanted=(2,))
    assert found.values == {"mask": tensor(8)}


def test_what_got_further_is_changed_next() -> None:
    """One of nine doors leads on, and one of nine keys opens what is behind it: 81 pairs, of which few are tried."""

    def program(rows: set[int], door: int, key: int) -> set[int]:
        rows.add(1)
        if door == 4:
            rows.add(2)
            if key == 7:
                return {3}
        raise ValueError("closed")

    doors, keys = (tuple(value(number) for number in range(1, 10)) for _ in range(2))
    found, tried = looking(program, slot("door", *doors), slot("key", *keys), wanted=(2, 3))
    assert found.values == {"door": value(4), "key": value(7)}
    behind = next(place for place, each in enumerate(tried) if each["door"]["value"] == 4)
    assert len(tried) - behind <= 16, "no more than all others of one slot and of the other"


def test_it_is_bounded_and_tries_nothing_twice() -> None:
    def program(rows: set[int], **given: Any) -> set[int]:
        raise ValueError("never")

    slots = [slot(name, *(value(number) for number in range(9))) for name in "abcd"]
    found, tried = looking(program, *slots, wanted=(1,))
    assert found.values is None
    assert found.runs == len(tried) == MOST_RUNS
    assert len({json.dumps(each, sort_keys=True) for each in tried}) == MOST_RUNS
    found, tried = looking(program, *slots, wanted=(1,), most=7)
    assert len(tried) == 7


def test_it_ends_when_there_is_nothing_left_to_try() -> None:
    def program(rows: set[int], **given: Any) -> set[int]:
        raise ValueError("never " + "x" * 500)

    found, tried = looking(program, slot("a", value(1), value(2)), slot("b", value(1), value(2)), wanted=(1,))
    assert len(tried) == 4
    assert found.why.startswith("no values were found with which it runs on the CPU (4 tries): ValueError: never")
    assert len(found.why) < 400


def test_why_nothing_was_found() -> None:
    found, _ = looking(lambda rows: {1}, wanted=(1, 2))
    assert found.why == "no values were found with which it comes to the flagged expression"
    found, _ = looking(lambda rows: {1}, wanted=(1,), most=0)
    assert found.why.endswith("(0 tries): none was left for this one")


def test_what_runs_without_coming_to_all_of_it_is_given_all_the_same() -> None:
    """Some code runs on an accelerator only, so that the control cannot come to it."""
    found, _ = looking(lambda rows, x: {1, x}, slot("x", value(3), value(2), value(4)), wanted=(1, 2, 9))
    assert (found.values, found.all_of_it) == ({"x": value(2)}, False)
    found, _ = looking(lambda rows, x: {1, x}, slot("x", value(3), value(2)), wanted=(1, 2))
    assert (found.values, found.all_of_it) == ({"x": value(2)}, True)


def test_the_error_that_is_told_is_that_of_the_furthest_run() -> None:
    def program(rows: set[int], x: int) -> set[int]:
        rows |= set(range(x))
        raise ValueError(f"after {x}")

    found, _ = looking(program, slot("x", value(1), value(5), value(3)), wanted=(9,))
    assert found.why.endswith("ValueError: after 5")


def test_a_slot_without_candidates_is_left_out() -> None:
    found, _ = looking(lambda rows: {1}, slot("x"), wanted=(1,))
    assert found.values == {"x": DEFAULT}


SCRIPT = """
import json, sys  # noqa: E402
import torch  # noqa: E402
from torchdevlint.runtime.execute.search import Run, search  # noqa: E402
from torchdevlint.runtime.execute.slots import Slot, candidates_for  # noqa: E402
from torchdevlint.runtime.execute.usage import Usage  # noqa: E402
from torchdevlint.runtime.execute.values import Setting, build  # noqa: E402

cpu = torch.device("cpu")
here = Setting(cpu, cpu, cpu)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 5))
tried = []

def run(values):
    tried.append(values)
    try:
        given = {key: build(one, here) for key, one in values.items()}
        torch.nn.functional.cross_entropy(net(given["x"]), given["y"]) * given["z"]["weight"].sum()
    except Exception as error:
        return Run(error, frozenset())
    return Run(None, frozenset({1}))

slots = [Slot(name, name, tuple(candidates_for(name, "", Usage(keys=list(keys)), {})))
         for name, keys in (("x", ""), ("y", ""), ("z", ["a", "b"]))]
found = search(slots, run, [frozenset({1})])
print(json.dumps([found.values, found.runs, found.why, tried]))
"""


@pytest.mark.slow
def test_the_hash_seed_and_the_process_decide_nothing() -> None:
    done = [python("-c", SCRIPT, PYTHONHASHSEED=seed) for seed in ("0", "4711")]
    assert [each.returncode for each in done] == [0, 0], done[0].stderr
    assert len({each.stdout for each in done}) == 1
    values, runs, why, tried = json.loads(done[0].stdout)
    assert len(tried) == runs > 3
    assert values is None or why == ""
