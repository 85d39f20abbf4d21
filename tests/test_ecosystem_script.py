"""The scripts that lint real releases, here offline on tiny archives and with a stand-in linter."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import forked

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
ECOSYSTEM = ROOT / "scripts" / "ecosystem.py"

FAKE_LINTER = """
import json, pathlib, sys
rows = []
for path in sorted(pathlib.Path(".").rglob("*.py"), reverse=True):
    for row, line in enumerate(path.read_text().split("\\n"), start=1):
        if "BUG" in line:
            code = "TDL201" if "load" in line else "TDL003"
            place = {"row": row, "column": line.index("BUG") + 1}
            rows.append({"code": code, "message": MESSAGE, "filename": "./" + path.as_posix(), "location": place})
print(json.dumps(rows))
sys.exit(1 if rows else 0)
"""


@dataclass
class Workplace:
    """A data folder, a cache whose archives are already there, and a stand-in for the linter."""

    root: Path
    releases: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data, self.downloads = self.root / "data", self.root / "cache" / "downloads"
        self.data.mkdir()
        self.downloads.mkdir(parents=True)
        self.linter_says("a message")

    def linter_says(self, message: str, source: str = FAKE_LINTER) -> None:
        (self.root / "linter.py").write_text(source.replace("MESSAGE", repr(message)), encoding="utf-8")

    def add(self, name: str, files: dict[str, str], version: str = "1.0", chosen_set: str = "gating") -> None:
        """Pin a wheel of `files`."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)
        self.add_archive(name, f"{name}-{version}-py3-none-any.whl", buffer.getvalue(), version, chosen_set)

    def add_archive(
        self, name: str, archive: str, data: bytes, version: str = "1.0", chosen_set: str = "gating"
    ) -> None:
        (self.downloads / archive).write_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        row = {"name": name, "version": version, "set": chosen_set, "archive": archive, "sha256": digest}
        self.releases.append({**row, "files": 1, "lines": 10})
        text = "".join(json.dumps(release) + "\n" for release in self.releases)
        (self.data / "releases.jsonl").write_text(text, encoding="utf-8")

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        options = ["--data", str(self.data), "--cache", str(self.root / "cache")]
        if command == "table":
            options = options[:2]
        if command in ("lint", "diff", "update", "advice"):
            options += ["--linter", shlex.join([sys.executable, str(self.root / "linter.py")])]
        line = [sys.executable, str(ECOSYSTEM), command, *options, *arguments]
        return forked.run(line, timeout=60)

    def rows(self, name: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.data / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(tmp_path)


def test_lint_prints_findings_per_rule_size_and_what_is_new(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "x = 1\nzeros()  # BUG\nload()  # BUG\n"})
    done = place.run("lint")
    assert done.returncode == 0, done.stderr
    rules = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line.startswith(("TDL", "all"))}
    assert rules == {"TDL003": "1", "TDL201": "1", "all": "2"}
    assert "+ alpha-1.0/alpha/a.py:2: TDL003 a message" in done.stdout
    assert "2 new, 0 gone, 0 reworded" in done.stdout


def test_update_then_diff_is_quiet(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    assert place.run("diff").returncode == 1
    assert place.run("update").returncode == 0
    done = place.run("diff")
    assert (done.returncode, "as in the snapshot" in done.stdout) == (0, True)


def test_diff_shows_new_gone_and_reworded_findings(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\nload()  # BUG\n"})
    place.run("update")
    place.linter_says("other words", FAKE_LINTER.replace('"BUG" in line', '"BUG" in line and "load" not in line'))
    done = place.run("diff")
    assert done.returncode == 1
    assert "- alpha-1.0/alpha/a.py:2: TDL201" in done.stdout
    assert "~ alpha-1.0/alpha/a.py:1: TDL003 other words" in done.stdout
    assert "0 new, 1 gone, 1 reworded" in done.stdout


def test_keys_survive_moved_rows_and_tell_equal_lines_apart(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\nif x:\n    zeros()  # BUG\n"})
    place.run("update")
    before = place.rows("snapshot.jsonl")
    assert len({row["key"] for row in before}) == 2
    moved = place.root / "cache" / "src" / "alpha-1.0" / "alpha" / "a.py"
    moved.write_text("# a new first line\n\n" + moved.read_text(encoding="utf-8"), encoding="utf-8")
    assert place.run("diff").returncode == 0
    place.run("update")
    after = place.rows("snapshot.jsonl")
    assert [row["key"] for row in after] == [row["key"] for row in before]
    assert [row["row"] for row in after] == [3, 5]


def test_update_of_one_release_keeps_the_others(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    place.add("beta", {"beta/b.py": "load()  # BUG\n"})
    place.run("update")
    place.linter_says("other words")
    place.run("update", "--release", "beta==1.0")
    assert {(row["package"], row["message"]) for row in place.rows("snapshot.jsonl")} == {
        ("alpha", "a message"),
        ("beta", "other words"),
    }


def test_sets_and_releases_choose_what_is_linted(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    place.add("beta", {"beta/b.py": "zeros()  # BUG\n"}, chosen_set="extended")
    linted = {
        arguments: sorted(name for name in ("alpha-1.0", "beta-1.0") if name in place.run("lint", *arguments).stdout)
        for arguments in ((), ("--set", "extended"), ("--set", "all"), ("--release", "beta"))
    }
    assert linted == {
        (): ["alpha-1.0"],
        ("--set", "extended"): ["beta-1.0"],
        ("--set", "all"): ["alpha-1.0", "beta-1.0"],
        ("--release", "beta"): ["beta-1.0"],
    }
    unknown = place.run("lint", "--release", "gamma")
    assert (unknown.returncode, "not pinned: gamma" in unknown.stderr) == (2, True)


def test_judging_shows_code_records_a_verdict_and_leaves_the_list(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "before = 1\nzeros()  # BUG\nload()  # BUG\n"})
    place.run("update")
    listed = place.run("judge", "--code", "TDL003").stdout
    assert "      1 | before = 1\n>     2 | zeros()  # BUG\n" in listed
    assert "not judged: 1" in listed
    done = place.run("judge", listed.split()[0], "--verdict", "false", "--reason", "moved in the\ncaller")
    assert done.returncode == 0, done.stderr
    (verdict,) = place.rows("verdicts.jsonl")
    assert (verdict["verdict"], verdict["reason"]) == ("false", "moved in the caller")
    assert str(verdict["key"]).startswith("alpha-1.0/alpha/a.py:TDL003:")
    remaining = place.run("judge").stdout
    assert "TDL003" not in remaining
    assert "not judged: 1" in remaining


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("00000000", "--verdict", "true", "--reason", "r"), "names 0 findings"),
        (("", "--verdict", "true", "--reason", "r"), "names 2 findings"),
        (("00000000", "--verdict", "true"), "needs --verdict and --reason"),
        (("--verdict", "true", "--reason", "r"), "need the ids"),
    ],
)
def test_a_judgement_needs_one_finding_and_a_reason(place: Workplace, arguments: tuple[str, ...], says: str) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\nload()  # BUG\n"})
    place.run("update")
    done = place.run("judge", *arguments)
    assert (done.returncode, says in done.stderr) == (2, True)
    assert not (place.data / "verdicts.jsonl").exists()


def test_table_counts_verdicts_and_rounds_precision_down(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "".join(f"zeros({n})  # BUG\n" for n in range(4))})
    place.run("update")
    keys = [str(row["key"]) for row in place.rows("snapshot.jsonl")]
    place.run("judge", keys[0], keys[1], "--verdict", "true", "--reason", "raises")
    place.run("judge", keys[2], "--verdict", "harmless", "--reason", "never called")
    page = place.root / "page.md"
    page.write_text("# Page\n<!-- ecosystem:begin -->\nold\n<!-- ecosystem:end -->\nafter\n", encoding="utf-8")
    assert place.run("table", "--page", str(page), "--check").returncode == 1
    assert place.run("table", "--page", str(page)).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert "| TDL003 | 4 | 2 | 1 | 0 | 1 | 66.6 % | 100.0 % |" in text
    assert "| alpha 1.0 | 10 | 4 | 2 | 1 | 0 | 1 | 66.6 % | 100.0 % |" in text
    assert "- TDL003 alpha-1.0 `alpha/a.py:3`, harmless: never called" in text
    assert re.search(r"Without a finding here.*: TDL001, TDL002, TDL004,", text)
    assert "old" not in text
    assert text.startswith("# Page\n<!-- ecosystem:begin -->")
    assert text.endswith("<!-- ecosystem:end -->\nafter\n")
    assert place.run("table", "--page", str(page), "--check").returncode == 0


def test_a_sample_of_rules_that_are_off_is_drawn_judged_and_tabulated(place: Workplace) -> None:
    place.add(
        "alpha", {"alpha/a.py": "".join(f"zeros({n})  # BUG\n" for n in range(9)), "alpha/b.py": "load()  # BUG\n"}
    )
    done = place.run("advice", "--draw", "4")
    assert done.stdout.splitlines() == ["TDL003: 4 of 9 drawn", "TDL201: 1 of 1 drawn"], done.stderr
    drawn = place.rows("advice.jsonl")
    place.run("advice", "--draw", "4")
    assert place.rows("advice.jsonl") == drawn
    place.run("advice", "--draw", "3")
    assert [row for row in drawn if row in place.rows("advice.jsonl")] == place.rows("advice.jsonl")
    keys = [str(row["key"]) for row in place.rows("advice.jsonl")]
    assert "not judged: 4" in place.run("judge").stdout
    place.run("judge", keys[0], "--verdict", "false", "--reason", "no tensor")
    page = place.root / "page.md"
    text = "<!-- ecosystem:begin -->\n<!-- ecosystem:end -->\n<!-- advice:begin -->\n<!-- advice:end -->\n"
    page.write_text(text, encoding="utf-8")
    assert place.run("table", "--page", str(page), "--check").returncode == 1
    assert place.run("table", "--page", str(page)).returncode == 0
    assert "| TDL003 | 9 | 3 | 0 | 0 | 1 | 2 | 0.0 % | 0.0 % |" in page.read_text(encoding="utf-8")
    assert "false: no tensor" in page.read_text(encoding="utf-8")
    assert place.run("table", "--page", str(page), "--check").returncode == 0


@pytest.mark.parametrize(
    "row",
    [
        {"key": "k", "verdict": "maybe", "reason": "r"},
        {"key": "k", "verdict": "true", "reason": " "},
        {"key": "k", "verdict": "true"},
    ],
)
def test_unusable_verdicts_are_refused(place: Workplace, row: dict[str, str]) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    (place.data / "verdicts.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = place.run("lint")
    assert (done.returncode, "verdicts.jsonl" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "source",
    [
        "import sys; print('[]'); print('a rule raised', file=sys.stderr); sys.exit(2)",
        "raise RuntimeError('a crash')",
        "import sys; print('[]'); sys.exit(1)",
        "print('not json')\nimport sys; sys.exit(1)",
    ],
    ids=["exit 2", "traceback", "exit 1 without findings", "no json"],
)
def test_a_failing_linter_exits_2_and_does_not_touch_the_snapshot(place: Workplace, source: str) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    place.run("update")
    before = place.rows("snapshot.jsonl")
    place.linter_says("", source)
    done = place.run("update")
    assert (done.returncode, "alpha-1.0: exit" in done.stderr) == (2, True)
    assert place.rows("snapshot.jsonl") == before
    assert place.run("diff").returncode == 2


def test_an_archive_with_another_digest_is_refused(place: Workplace) -> None:
    place.add("alpha", {"alpha/a.py": "zeros()  # BUG\n"})
    (place.downloads / "alpha-1.0-py3-none-any.whl").write_bytes(b"something else")
    done = place.run("lint")
    assert (done.returncode, "not the pinned file" in done.stderr) == (2, True)
    assert not (place.root / "cache" / "src" / "alpha-1.0").exists()


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "alpha/../../evil.py", "..\\evil.py"])
def test_members_outside_the_folder_are_refused(place: Workplace, name: str) -> None:
    place.add("alpha", {"alpha/a.py": "x = 1\n", name: "x = 1\n"})
    done = place.run("lint")
    assert (done.returncode, "refused to unpack" in done.stderr) == (2, True)
    assert not list(place.root.rglob("*evil*"))
    assert not (place.root / "cache" / "src" / "alpha-1.0").exists()


def test_a_source_distribution_loses_its_top_folder_and_keeps_only_python_files(place: Workplace) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as sdist:
        for name, text in {"alpha-1.0/alpha/a.py": b"zeros()  # BUG\n", "alpha-1.0/.gitignore": b"*.py\n"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            sdist.addfile(member, io.BytesIO(text))
        link = tarfile.TarInfo("alpha-1.0/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "elsewhere.py"
        sdist.addfile(link)
    place.add_archive("alpha", "alpha-1.0.tar.gz", buffer.getvalue())
    done = place.run("lint")
    assert "+ alpha-1.0/alpha/a.py:1: TDL003" in done.stdout
    unpacked = place.root / "cache" / "src" / "alpha-1.0"
    assert [path.name for path in unpacked.rglob("*") if not path.is_dir()] == ["a.py"]


@pytest.mark.network
def test_a_pinned_release_is_fetched_checked_and_linted(place: Workplace) -> None:
    pinned = place.run("pin", "accelerate==0.5.1", "--set", "gating")
    assert pinned.returncode == 2, "there is no list to add to yet"
    (place.data / "releases.jsonl").touch()
    pinned = place.run("pin", "accelerate==0.5.1", "--set", "gating")
    assert pinned.returncode == 0, pinned.stderr
    stored = (ROOT / "scripts" / "ecosystem" / "releases.jsonl").read_text(encoding="utf-8").splitlines()
    assert place.rows("releases.jsonl") == [json.loads(line) for line in stored if '"accelerate-0.5.1-' in line]
    (place.downloads / "accelerate-0.5.1-py3-none-any.whl").unlink()
    assert place.run("lint").returncode == 0


def test_the_stored_data_is_sound() -> None:
    """Pins, snapshot and verdicts of the repository itself: readable, sorted, every finding's release pinned."""
    data = ROOT / "scripts" / "ecosystem"
    releases = [json.loads(line) for line in (data / "releases.jsonl").read_text(encoding="utf-8").splitlines()]
    labels = {f"{release['name']}-{release['version']}" for release in releases}
    assert len(labels) == len(releases)
    assert {release["name"] for release in releases if release["set"] == "gating"} == {
        "timm",
        "diffusers",
        "torch_geometric",
        "accelerate",
    }
    for name in ("snapshot.jsonl", "verdicts.jsonl", "advice.jsonl"):
        path = data / name
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        keys = [row["key"] for row in rows]
        assert len(set(keys)) == len(keys)
        assert {key.partition("/")[0] for key in keys} <= labels


def test_the_page_agrees_with_the_stored_data() -> None:
    done = subprocess.run(
        [sys.executable, str(ECOSYSTEM), "table", "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_the_gate_hides_is_found(place: Workplace) -> None:
    """Of a release that the linter does see, nothing: what it turns away imports nothing of PyTorch."""
    helpers = "import torch\ndef mask(n):\n    return torch.ones(n)\n"
    place.add("one", {"one/helpers.py": helpers, "one/a.py": "from .helpers import mask\n", "one/b.py": "x = 1\n"})
    done = place.run("gate")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == ["all", "3", "1", "1", "0"]
