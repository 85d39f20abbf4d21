"""Where samples come from: files of interpreters and packages, programs that are generated, and changes of both."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import corpus

from . import bytes_changed, trees_changed
from .judged import Sample

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BATCH = 50
_LARGEST_CHANGED = 40_000
"""Bytes; mutations of larger files would show little more and take most of the time."""


def files(paths: Iterable[Path], root: Path) -> Iterator[Sample]:
    """The files as they are, under their own names, so that the rest of their project is looked into."""
    for path in paths:
        yield Sample(str(path.relative_to(root)), path.read_bytes(), str(path))


def standard_library(interpreter: str = sys.executable) -> Path:
    """The folder of an interpreter's standard library."""
    code = "import sysconfig; print(sysconfig.get_paths()['stdlib'])"
    if interpreter == sys.executable:
        return Path(sysconfig.get_paths()["stdlib"])
    return Path(subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=True).stdout.strip())


def of_library(root: Path) -> list[Path]:
    """Its Python files (and text that its tests hold under other names), without installed packages."""
    found = [*root.rglob("*.py"), *root.glob("test/**/*.pyw"), *root.glob("test/**/bad*")]
    return sorted({path for path in found if path.is_file() and "site-packages" not in path.parts})


def snippets() -> list[Sample]:
    """The programs of the test cases and of the strange code."""
    pages = [*sorted((ROOT / "tests" / "cases").glob("*.md")), ROOT / "tests" / "flow" / "strange.md"]
    return [
        Sample(f"{page.stem}:{number}", ("import torch\nimport torch.nn as nn\n" + code).encode())
        for page in pages
        for number, code in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")))
    ]


def seeds(cache: Path, seed: int) -> list[Sample]:
    """What is changed: snippets, the project's own code, the standard library's tests, and packages at hand."""
    random = Random(f"seeds {seed}")
    folders = [ROOT / "torchdevlint", ROOT / "scripts", *sorted((cache / "src").glob("*"))]
    found = snippets()
    for paths, most in [(of_library(standard_library()), 400), *((corpus.python_files(each), 60) for each in folders)]:
        small = [path for path in paths if 0 < path.stat().st_size < _LARGEST_CHANGED]
        chosen = random.sample(small, min(most, len(small)))
        found += [Sample(path.name, path.read_bytes(), str(path)) for path in chosen]
    return found


def changed(seeds: Sequence[Sample], seed: int, numbers: Iterable[int], kind: str) -> Iterator[Sample]:
    """Change number n of each n: of `kind` ``bytes`` or ``trees``. It depends on the seed, n and the seeds alone."""
    change: Callable[[Sample, Sample, Random], bytes] = _bytes_changed if kind == "bytes" else _trees_changed
    for number in numbers:
        random = Random(f"{kind} {seed} {number}")
        one, other = random.choice(seeds), random.choice(seeds)
        yield Sample(f"{kind} {number}: {one.name} with {other.name}", change(one, other, random), one.filename)


def _bytes_changed(one: Sample, other: Sample, random: Random) -> bytes:
    return bytes_changed.changed(one.data, other.data, random)


def _trees_changed(one: Sample, other: Sample, random: Random) -> bytes:
    text, further = one.data.decode("utf-8", "replace"), other.data.decode("utf-8", "replace")
    return trees_changed.changed(text, further, random).encode("utf-8", "surrogatepass")


def generated(seed: int, count: int) -> Iterator[Sample]:
    """Programs of hypothesmith, in batches: one of Python's grammar, one of libcst's nodes, and so on."""
    import hypothesmith

    for number in range(0, count, _BATCH):
        strategy = hypothesmith.from_grammar() if number // _BATCH % 2 else hypothesmith.from_node()
        texts = _drawn(strategy, seed + number)[: count - number]
        yield from (
            Sample(f"program {number + place}", text.encode("utf-8", "surrogatepass"))
            for place, text in enumerate(texts)
        )


def _drawn(strategy: Any, seed: int) -> list[str]:
    """A batch of texts of one strategy."""
    import hypothesis

    texts: list[str] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=_BATCH,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(text: str) -> None:
        texts.append(text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libcst and of Python's compiler, about what is generated
        collect()
    return texts
