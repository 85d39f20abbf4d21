"""The reader of case files refuses what it would otherwise misread."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.casefile import Case, Run, read_cases, read_file
from tests.conftest import HoldAll

WHOLE = """# TDL001 unassigned-tensor-move

## a title
It is wrong because of this.
run: raises "on the same device"

```python
def main(device):
    ## not a heading
    bad()  # want: TDL001, TDL003
```

fixed:

```python
def main(device):
    good()
```
"""


def read(tmp_path: Path, text: str) -> list[Case]:
    path = tmp_path / "TDL001-unassigned-tensor-move.md"
    path.write_text(text)
    return read_file(path)


def test_a_whole_case(tmp_path: Path) -> None:
    (case,) = read(tmp_path, WHOLE)
    assert case.id == "TDL001: a title"
    assert case.why == "It is wrong because of this."
    assert case.want == {(3, "TDL001"), (3, "TDL003")}
    assert case.fixed == "def main(device):\n    good()\n"
    assert case.run == Run("raises", "on the same device", anywhere=False)


@pytest.mark.parametrize(
    ("line", "run"),
    [
        ("run: ok", Run("ok", "", anywhere=False)),
        ("run: wrong: stayed behind", Run("wrong", "stayed behind", anywhere=False)),
        ('run: anywhere: raises "str expected"', Run("raises", "str expected", anywhere=True)),
        ('run: two accelerators: raises "scalar"', Run("raises", "scalar", anywhere=False, accelerators=2)),
    ],
)
def test_run_lines(tmp_path: Path, line: str, run: Run) -> None:
    (case,) = read(tmp_path, WHOLE.replace('run: raises "on the same device"', line))
    assert case.run == run


def test_a_gap_is_a_reason_and_a_mark(tmp_path: Path) -> None:
    text = "## title\nWhy.\ngap: needs another file\n\n```python\nx()  # gap: TDL001\n```\n"
    (case,) = read(tmp_path, text)
    assert (case.gaps, case.gap, case.want) == ({(1, "TDL001")}, "needs another file", frozenset())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("It is wrong because of this.\n", "", "a sentence that says why"),
        ("```python\ndef main(device):\n    ## not", "```\ndef main(device):\n    ## not", "only python blocks"),
        ("fixed:\n", "", "second block without `fixed:`"),
        ('raises "on the same device"', "explodes", "not a run line"),
        ("def main(device):\n    ##", "def start(device):\n    ##", "defines main"),
        ("# want: TDL001, TDL003", "# gap: TDL001", "come together"),
        ("run:", "gap: no reason for it\nrun:", "come together"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"TDL001-unassigned-tensor-move\.md:\d+: .*{message}"):
        read(tmp_path, WHOLE.replace(old, new))


def test_a_title_is_an_id_and_so_stands_once(tmp_path: Path) -> None:
    (tmp_path / "TDL001-unassigned-tensor-move.md").write_text(WHOLE + WHOLE)
    with pytest.raises(ValueError, match="second case"):
        read_cases(tmp_path)


def test_a_case_file_is_named_after_its_rule(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(WHOLE)
    with pytest.raises(ValueError, match="named after its rule"):
        read_cases(tmp_path)


def test_every_case_that_fails_is_told(tmp_path: Path, hold_all: HoldAll) -> None:
    titles = ("is right", "is wrong", "ends in an error")
    cases = [read(tmp_path, WHOLE.replace("a title", title))[0] for title in titles]

    def claim(case: Case) -> None:
        assert case.title != "is wrong", "so it is"
        if "error" in case.title:
            raise KeyError("a key")

    with pytest.raises(pytest.fail.Exception) as told:
        hold_all(cases, claim)
    text = str(told.value)
    assert [title for title in titles if f"TDL001-unassigned-tensor-move.md:3: {title}\n" in text] == list(titles[1:])
    assert "AssertionError: so it is" in text
    assert "KeyError: 'a key'" in text
