"""Which rule is most likely about an error: by the operand and the operation that its text names, and by the code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchdevlint.explain.pasted import Pasted


class Clue(NamedTuple):
    """What speaks for a rule: a pattern for each side of an error, all of which have to be found.

    `where` is searched for in what stands before the lines, and in the paths, functions and code, of the whole
    traceback; `why` completes "likely, since ...".
    """

    code: str
    weight: int
    why: str
    argument: str = ""
    operation: str = ""
    line: str = ""
    function: str = ""
    where: str = ""
    devices: str = ""


_FACTORY = (
    r"\btorch\.(?:zeros|ones|full|empty|arange|linspace|eye|rand|randn|randint|randperm|tensor|as_tensor|from_numpy|"
    r"tril|triu|one_hot)\("
)
_LOSS = r"loss|entropy|nll|mse|l1_|kl_div|bce"
_DATA = r"\b(?:x|y|batch|images?|inputs?|labels?|targets?|data|samples?|input_ids|pixel_values|src|tgt|trg)\b"

CLUES: Sequence[Clue] = (
    Clue("TDL010", 60, "a loss got its `weight` on the CPU", argument=r"^(?:pos_)?weight$", operation=_LOSS),
    Clue("TDL010", 50, "a metric of torchmetrics is in the traceback", where=r"torchmetrics"),
    Clue("TDL010", 15, "a criterion is called in the line",
         line=r"\b(?:criterion|loss_f\w*|loss_func\w*|\w*criterion)\("),
    Clue("TDL005", 50, "a loss got its target on the CPU", argument=r"^(?:target|labels?)$", operation=_LOSS),
    Clue("TDL005", 45, "the input of a layer is on the CPU", argument=r"^(?:mat1|[Ii]nput)$", devices="cpu"),
    Clue("TDL005", 45, "what is looked up in a table is on the CPU", argument="^ind(?:ex|ices)$", devices="cpu"),
    Clue("TDL005", 25, "the line calls a model with data",
         line=r"\b(?:self\.)?(?:model|net|\w*_model|encoder)\(.*" + _DATA),
    Clue("TDL102", 45, "the weight of a layer is on the CPU, and its input is not",
         argument=r"^(?:mat2|weight|bias|parameter)$", devices="cpu"),
    Clue("TDL105", 45, "the line makes a layer and calls it", line=r"\bnn\.[A-Z]\w*\([^()]*\)\("),
    Clue("TDL102", 45, "the input of a layer is on a GPU, and its weight is not", argument=r"^(?:mat1|[Ii]nput)$",
         devices=r"cuda|mps|xpu"),
    Clue("TDL003", 60, "the line of `forward` makes a tensor", line=_FACTORY, function=r"^(?:\w+\.)?forward$"),
    Clue("TDL014", 55, "the line makes a tensor and combines it", line=_FACTORY, function=r"^(?!(?:\w+\.)?forward$)\w"),
    Clue("TDL003", 15, "it was raised in a `forward`", function=r"^(?:\w+\.)?forward$"),
    Clue("TDL101", 20, "the line of a `forward` reads attributes", line=r"\bself\.[a-z_]\w*\b(?!\()",
         function="forward"),
    Clue("TDL008", 60, "the line adds to a sum in place", line=r"^\w+(?:\.\w+)* \+= "),
    Clue("TDL008", 40, "tensors of several places are joined", argument=r"^tensors$", operation="cat|stack"),
    Clue("TDL008", 40, "the output of an operation is on the CPU", argument="^out$"),
    Clue("TDL203", 80, "an optimizer took a step", where=r"torch[/\\]optim[/\\]"),
    Clue("TDL402", 60, "it was raised in a replica of `DataParallel`", where=r"parallel_apply|data_parallel"),
    Clue("TDL307", 60, "it was raised in a worker of a `DataLoader`",
         where=r"_worker_loop|utils[/\\]data[/\\]_utils[/\\]worker"),
    Clue("TDL312", 40, "the line names a generator", line=r"generator|Generator"),
    Clue("TDL306", 40, "a sampler draws the order of a data set", where=r"sampler\.py|random_split|dataset\.py"),
    Clue("TDL404", 50, "a process chooses its GPU by its rank", line=r"rank"),
    Clue("TDL404", 30, "a process chooses its GPU", where=r"\bset_device\b|local_rank"),
    Clue("TDL404", 40, "one process of several takes part",
         where=r"torch[/\\]distributed|torchrun|^\[?(?:rank|default)\d"),
    Clue("TDL502", 40, "the line names a GPU by its number", line=r"cuda:\d|\.cuda\(\d|device\(\d|set_device\(\d"),
    Clue("TDL012", 50, "the line names a device of CUDA", line=r"\.cuda\(|[\"']cuda"),
    Clue("TDL012", 30, "two GPUs take part", devices=r"cuda:[1-9]"),
    Clue("TDL404", 15, "two GPUs take part", devices=r"cuda:[1-9]"),
    Clue("TDL009", 60, "the line uses a legacy tensor type",
         line=r"\btorch\.(?:cuda\.)?(?:Float|Long|Int|Byte|Double|Half)Tensor"),
    Clue("TDL201", 30, "the line loads a checkpoint", line=r"torch\.load\("),
    Clue("TDL201", -60, "", line=r"map_location"),
    Clue("TDL502", 20, "the place that is given in the line may be a GPU by its number", line=r"map_location"),
    Clue("TDL310", 15, "the line hands a place on", line=r"map_location"),
    Clue("TDL305", 40, "a function of CUDA is given a device",
         line=r"torch\.cuda\.(?:set_device|device)\(|\.cuda\((?!\))"),
    Clue("TDL304", 60, "the line asks for `get_device()`", line=r"get_device\("),
    Clue("TDL301", 60, "the line sets the visible devices", line=r"CUDA_VISIBLE_DEVICES"),
    Clue("TDL302", 30, "the line sets the visible devices", line=r"CUDA_VISIBLE_DEVICES"),
    Clue("TDL406", 30, "the line goes through a model", line=r"\b(?:model|net)\.\w+"),
    Clue("TDL107", 60, "the line asks for a `device`", line=r"\.device\b"),
)  # fmt: skip


_NONE = Clue("", 0, "")


class Likely(NamedTuple):
    """A rule that may be about an error, and what speaks for it; `why` is empty where nothing does."""

    code: str
    why: str = ""


def likely(error: Pasted) -> list[Likely]:
    """The rules that come into question, the likeliest first."""
    if error.recognised is None:
        return []
    codes = error.recognised.symptom.rules
    speaking = {code: [clue for clue in CLUES if clue.code == code and _fits(clue, error)] for code in codes}
    weights = {code: sum(clue.weight for clue in speaking[code]) - 3 * at for at, code in enumerate(codes)}
    ordered = sorted(codes, key=lambda code: (-weights[code], codes.index(code)))
    return [Likely(code, _reason(speaking[code])) for code in ordered]


def _reason(clues: Sequence[Clue]) -> str:
    return max((clue for clue in clues if clue.why), key=lambda clue: clue.weight, default=_NONE).why


def _fits(clue: Clue, error: Pasted) -> bool:
    assert error.recognised is not None
    seen = error.recognised
    raised = error.user or (error.frames[-1] if error.frames else None)
    sides = {
        "argument": seen.argument,
        "operation": seen.operation,
        "line": raised.code if raised is not None else "",
        "function": raised.function if raised is not None else "",
        "devices": seen.device,
        "where": " ".join([error.process, *(f"{frame.path} {frame.function} {frame.code}" for frame in error.frames)]),
    }
    wanted = {side: getattr(clue, side) for side in sides if getattr(clue, side)}
    return all(re.search(pattern, sides[side]) for side, pattern in wanted.items())
