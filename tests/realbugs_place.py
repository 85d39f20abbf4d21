"""A small world for the script that scores linters on real fixes: records, a repository to clone, a stand-in linter."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests import forked

ROOT = Path(__file__).resolve().parent.parent
REALBUGS = ROOT / "benchmarks" / "realbugs"

FAKE_LINTER = """
import json, pathlib, sys
if "--version" in sys.argv:
    sys.exit(print("fake 9.1"))
rows = []
for path in sorted(pathlib.Path(".").rglob("*.py")):
    for row, line in enumerate(path.read_text().split("\\n"), start=1):
        for code in ("TDL201", "TDL003"):
            if code in line:
                related = [{"location": {"row": int(line.split("@")[1]), "column": 1}}] if "@" in line else []
                place = {"row": row, "column": 1}
                rows.append({"code": code, "filename": "./" + path.as_posix(), "location": place, "related": related})
print(json.dumps(rows))
sys.exit(1 if rows else 0)
"""
QUIET = "pass\n" * 9
BAD_LINE_2 = "pass\nload()  # TDL201\n" + "pass\n" * 7


@dataclass
class Workplace:
    """Records, a repository to clone, a cache and a stand-in for the linter."""

    root: Path
    bugs: list[dict[str, Any]] = field(default_factory=list)
    lookalikes: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data, self.remote, self.files = (
            self.root / "data",
            self.root / "host" / "some" / "repo",
            self.root / "files",
        )
        self.data.mkdir()
        self.remote.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        for setting in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
            self.git("config", setting, "true")
        self.linter_is(FAKE_LINTER)

    def git(self, *arguments: str) -> str:
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *name, *arguments], cwd=self.remote, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def linter_is(self, source: str) -> None:
        (self.root / "linter.py").write_text(source, encoding="utf-8")

    def commit(self, path: str, text: str) -> str:
        (self.remote / path).parent.mkdir(parents=True, exist_ok=True)
        (self.remote / path).write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message=x")
        return self.git("rev-parse", "HEAD")

    def bug(self, name: str, before: str, after: str, lines: list[int], **others: Any) -> None:
        """Record a fix that turns `before` into `after`."""
        path = f"pkg/{name}.py"
        row = {"id": name, "repo": "some/repo", "parent_commit": self.commit(path, before)}
        row |= {"fix_commit": self.commit(path, after), "path": path, "lines": lines, "post_lines": after.count("\n")}
        self.bugs.append({**row, "category": "load", "single_file": "yes", "why": "because", **others})
        self.save()

    def lookalike(self, name: str, text: str, lines: list[int]) -> None:
        commit = self.commit(f"{name}.py", text)
        row = {"id": name, "repo": "some/repo", "commit": commit, "path": f"{name}.py", "lines": lines}
        self.lookalikes.append({**row, "why_ok": "it is in place"})
        self.save()

    def save(self) -> None:
        for name, rows in (("bugs", self.bugs), ("lookalikes", self.lookalikes)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (self.data / f"{name}.jsonl").write_text(text, encoding="utf-8")

    def run(self, command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        options = ["--data", str(self.data)]
        if command in ("fetch", "checkout", "score", "update", "execute"):
            host = (self.root / "host").as_uri()
            options += ["--clones", str(self.root / "clones"), "--host", host]
        if command in ("checkout", "score", "update", "misses"):
            options += ["--files", str(self.files)]
        if command in ("score", "update"):
            options += ["--linter", shlex.join([sys.executable, str(self.root / "linter.py")])]
        line = [sys.executable, str(REALBUGS / "run.py"), command, *options, *arguments]
        return forked.run(line, timeout=60)

    def stored(self) -> dict[str, Any]:
        (row,) = self.rows("results.jsonl")
        return row

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.data / name).read_text(encoding="utf-8").splitlines()]
