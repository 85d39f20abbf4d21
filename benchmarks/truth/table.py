"""The markdown table of ``docs/runtime.md``: per group how the simulated backend does, and against what."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.truth.compare import Judged, counts
from benchmarks.truth.records import Stamp

HEAD = "| group | cases | recorded | agree | excused | disagree | unrecorded | stated by a source | as stated |"


def render(judged: Sequence[Judged], stamps: Sequence[Stamp], torch: str) -> str:
    """Markdown. `torch` is the release under which the simulated backend ran."""
    lines = [HEAD, "|---|" + "---:|" * 8]
    for name, count in counts(judged).items():
        shown = f"**{name}**" if name == "total" else name
        numbers = (
            count.cases,
            count.recorded,
            count.agree,
            count.excused,
            count.disagree,
            count.unrecorded,
            count.stated,
            count.met,
        )
        lines.append(f"| {shown} | {' | '.join(str(number) for number in numbers)} |")
    lines += ["", f"Simulated backend under torch {torch}.", ""]
    if not stamps:
        lines.append(
            "No record of a real GPU is in the repository: every case is unrecorded, and none counts as agreement."
        )
    lines += [f"Recorded on {s.gpu} ({s.devices}), torch {s.torch}, CUDA {s.cuda}, {s.date}." for s in stamps]
    excused = [one for one in judged if one.excused]
    if excused:
        lines += ["", "Exceptions:", ""]
        lines += [f"- `{one.case.id}`: {one.excused}." for one in excused]
    return "\n".join(lines) + "\n"
