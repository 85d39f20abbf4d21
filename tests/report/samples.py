"""Findings in made-up files, for the golden tests of the output formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from torchdevlint.model import Applicability, Diagnostic, Edit, FileResult, Fix, Problem, Related, Run, Severity, Span
from torchdevlint.report import Look

FILES = {
    "src/model.py": [
        "class Net(nn.Module):",
        "    def __init__(self):",
        "        super().__init__()",
        "        self.rnn = nn.GRU(4, 8)",
        "",
        "    def forward(self, x):",
        "        hidden = torch.zeros(1, x.shape[1], 8)",
        "        scale = x.std()",
        "        x = x / scale",
        "        x = x - x.mean()",
        "        x = x.tanh()",
        "        return self.rnn(x, hidden)",
    ],
    "train.ipynb:3": ["labels.to(device)"],
    "train.ipynb:4": ["labels.to(device)", "labels"],
    "src/load.py": ["labels.to(device)", "net = torch.load(", "    path,", ")"],
}

FACTORY = Diagnostic(
    filename="src/model.py",
    span=Span(7, 18, 7, 47),
    code="TDL003",
    name="factory-in-forward",
    message="`torch.zeros` makes a tensor on the default device",
    severity=Severity.ERROR,
    symptom="RuntimeError: Input and hidden tensors are not at the same device",
    help="add `device=x.device`",
    url="https://example.org/TDL003/",
    noqa_row=7,
    related=(
        Related("meets the parameters of `self.rnn` here", "src/model.py", Span(12, 16, 12, 35)),
        Related("the parameters are made here", "src/model.py", Span(4, 20, 4, 32)),
    ),
)
MOVE = Diagnostic(
    filename="src/load.py",
    span=Span(1, 1, 1, 18),
    code="TDL001",
    name="unassigned-tensor-move",
    message="the result of `labels.to(device)` is thrown away",
    severity=Severity.ERROR,
    symptom="",
    help="assign it",
    url="https://example.org/TDL001/",
    noqa_row=1,
    fix=Fix(Applicability.SAFE, "Assign the result", (Edit("labels = ", Span(1, 1, 1, 1)),)),
)
LOAD = Diagnostic(
    filename="src/load.py",
    span=Span(2, 7, 4, 2),
    code="TDL201",
    name="load-without-map-location",
    message="50% of all machines: no GPU,\nno luck",
    severity=Severity.WARNING,
    symptom="RuntimeError: Attempting to deserialize object on a CUDA device",
    help='say `map_location="cpu"`',
    url="https://example.org/TDL201/",
    noqa_row=4,
    fix=Fix(Applicability.DISPLAY, "Say where to", (Edit("", Span(3, 9, 3, 9)),)),
)
CELL = replace(MOVE, filename="train.ipynb", cell=3)
RUN = Run(
    (
        FileResult("src/load.py", (MOVE, LOAD)),
        FileResult("src/model.py", (FACTORY,)),
        FileResult("src/other.py"),
    )
)
EMPTY = Run((FileResult("src/other.py"),))
BROKEN = Run((FileResult("src/other.py"),), (Problem("src/other.py", "cannot be read"),))


def look(**changes: object) -> Look:
    return Look(**{"lines": lines, **changes})  # type: ignore[arg-type]


def lines(filename: str, cell: int | None = None, files: Mapping[str, Sequence[str]] = FILES) -> Sequence[str]:
    return files.get(filename if cell is None else f"{filename}:{cell}", [])
