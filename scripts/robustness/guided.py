"""Coverage-guided fuzzing of the way from bytes to diagnostics, with atheris.

What is found is written to the folder and ends the run; so does a sample that takes longer than the limit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parents[1]
_PIECES = 400
"""Of the seeds, so many go into the corpus."""
_LONGEST = 4096
_FIRST = b"import torch\nx = torch.load('x')\n"
"""Has the linter import what it imports when it is needed: the rules and the formats."""


def run(seconds: float, seed: int, folder: Path) -> int:
    """Fuzz for so many seconds in a process of its own; the corpus and what failed go to `folder`."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(_seeds(seed)):
        (corpus / f"seed{number}.py").write_bytes(data)
    words = folder / "words.txt"
    words.write_text("".join(f'"{word}"\n' for word in _WORDS), encoding="utf-8")
    command = [
        sys.executable, "-m", "robustness.guided", str(corpus), f"-max_total_time={seconds:.0f}", f"-seed={seed + 1}",
        f"-max_len={_LONGEST}", "-timeout=20", f"-dict={words}", f"-artifact_prefix={folder}/", "-print_final_stats=1",
    ]  # fmt: skip
    return int(subprocess.run(command, cwd=HERE, check=False).returncode != 0)


def _seeds(seed: int) -> list[bytes]:
    from .inputs import snippets

    found = [sample.data for sample in snippets() if len(sample.data) < _LONGEST]
    return Random(seed).sample(found, min(_PIECES, len(found)))


_WORDS = (
    "import torch", "torch.zeros(3)", ".to(device)", ".cuda()", "device=", "nn.Module", "def forward(self, x):",
    "class ",
    "    ", "return ", "for x in x:", "if x:", "self.x", "torch.load(", "async def ", "lambda x:", "match x:", "case {",
    "with x as x:", "try:", "except x:", "global x", "del x", "f'{x}'", "# noqa", "# torchdevlint: ignore[", ":=", "**",
)  # fmt: skip


def _fuzz() -> None:
    """The child: instruments the linter as it is imported, and never returns."""
    import atheris

    with atheris.instrument_imports(include=["torchdevlint"]):
        from .judged import Sample, examine

        examine(Sample("first", _FIRST))

    def one(data: bytes) -> None:
        outcome = examine(Sample("fuzz", data), formats=False)
        if outcome.faults:
            raise RuntimeError(outcome.faults)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    _fuzz()
