"""`scripts/metamorphic.py` writes programs another way that does the same, and what is said of them stays."""

from __future__ import annotations

import ast
import sys
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from metamorphic import changes  # noqa: E402
from metamorphic.broken import Break, breaks_of, cases_of_programs, found, known  # noqa: E402

EVERY = 40
"""Each change is tried on one of so many cases, which others that are added do not change."""
TEXT = """\
import torch


def scaled(x):
    rate = 0.5
    return x * rate  # want: TDL014


def main(device):
    y = torch.ones(3, device=device)
    return scaled(y)
"""
HOLDER = """\
class Holder:
    def copy(self, x):
        made = x.clone().to("cpu")
        return made


"""


@pytest.mark.parametrize("name", changes.ALL)
def test_what_is_found_stays_however_a_program_is_written(name: str) -> None:
    turn = changes.ALL.index(name)
    cases = [each for each in cases_of_programs() if zlib.crc32(each.id.encode()) % EVERY == turn]
    ((_, made, broken),) = found([name], cases)
    assert made or not cases
    new = set(broken) - known()
    assert not new, "see `python scripts/metamorphic.py run`; what is right is known after `write`"


@pytest.mark.parametrize("name", sorted(changes.IN_PLACE.keys() - {"in_function"}))
def test_a_change_keeps_the_lines_that_are_marked(name: str) -> None:
    text = TEXT.replace("return scaled(y)", "scaled(y)").replace("3, device=device)", "3).to(device)")
    text = text.replace("def main", f"{HOLDER}def main")
    changed = changes.made(name, text)
    assert changed is not None
    (after,) = changed.values()
    assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(text)) or name == "documented"
    assert len([line for line in after.splitlines() if line.endswith("# want: TDL014")]) == 1


def test_names_are_changed_where_they_are_bound_and_read() -> None:
    changed = changes.made("locals_renamed", TEXT)
    assert changed is not None
    assert "v0 = 0.5\n    return x * v0  # want: TDL014" in changed["case.py"]
    assert "return scaled(v0)" in changed["case.py"]


def test_a_function_goes_to_another_file_with_its_marks() -> None:
    files = changes.made("split", TEXT)
    assert files is not None
    assert "# want: TDL014" in files["helpers.py"]
    assert "from helpers import scaled" in files["train.py"]
    assert "def scaled" not in files["train.py"]


def test_a_finding_that_is_lost_and_one_that_is_new_are_breaks(tmp_path: Path) -> None:
    case = next(each for each in cases_of_programs() if each.rule == "TDL014" and each.want)
    silent = breaks_of("documented", case, {"case.py": "x = 1  # want: TDL014\n"}, tmp_path)
    assert silent == [Break("documented", "lost", case.id, "TDL014")]
    more = breaks_of("documented", case, {"case.py": case.code.replace("# want: TDL014", "")}, tmp_path)
    assert more == [Break("documented", "new", case.id, "TDL014")]
