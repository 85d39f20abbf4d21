"""What the linter knows of torch against the simulated backend: the same lines are linted and executed.

Each operation of `operations` is written with all tensors where `x` is, and with each of them in turn on the CPU, first
as it is and then 0-dim; methods that write in place too. Lines that torch refuses on a CPU are left out. On a simulated
accelerator those lines must raise that the linter reports, and no others. Exceptions are listed with their reason, and
one that is no longer needed fails too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest

from tests.conftest import each_part
from tests.flow.snippets import HEAD, mixed_rows
from tests.runtime import operations
from torchdevlint.flow.knowledge import torch_api

torch = pytest.importorskip("torch", reason="executes the operations that the linter knows")

RELEASE = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
if RELEASE < (2, 13):
    pytest.skip("the tables are those of torch 2.13", allow_module_level=True)

from torchdevlint.runtime.simulated import simulate  # noqa: E402

LETTER = re.compile(rf"(?<![\w.\"])([{''.join(operations.MADE)}])(?![\w=(\"])")
THERE, PLAIN, SCALAR = "there", "on the CPU", "0-dim on the CPU"
BATCH = 400
PARTS = 3
of_each_part = each_part(PARTS, "agreement")

LISTED = {
    "torch": torch_api.TORCH_TENSOR | torch_api.TORCH_TUPLE | torch_api.TORCH_LIST | torch_api.TORCH_PLAIN,
    "F": torch_api.FUNCTIONAL_TENSOR | torch_api.FUNCTIONAL_TUPLE,
    "torch.linalg": torch_api.LINALG_TENSOR | torch_api.LINALG_TUPLE,
    "torch.fft": torch_api.FFT_TENSOR,
    "": torch_api.METHOD_TENSOR | torch_api.METHOD_TUPLE | torch_api.METHOD_LIST | torch_api.METHOD_PLAIN,
}
NOT_CALLED = {
    "fake_quantize_per_channel_affine quantize_per_channel quantize_per_tensor_dynamic choose_qparams_optimized": (
        "quantised tensors"
    ),
    "int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme": (
        "quantised tensors"
    ),
    "ccol_indices coalesce col_indices crow_indices indices is_coalesced row_indices values": "sparse tensors",
    "resize_as_sparse_ smm sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm": "sparse tensors",
    "to_padded_tensor": "nested tensors",
    "grouped_mm scaled_grouped_mm scaled_mm": "multiply on accelerators only",
    "multi_head_attention_forward": "what the layer calls",
    "cuda ipu mtia xpu pin_memory": "moves",
    "set_ share_memory_": "change the storage",
}
NOT_ON_CUDA = {
    "histogram to_mkldnn": "have no kernel for CUDA",
}
ELSEWHERE = {
    "cpu": "a move",
}
"""Operations that give a tensor on the CPU for tensors on an accelerator."""
REMOVED = {
    "cholesky qr": ((2, 15), "by a text that says so"),
}
"""What a release and later ones refuse everywhere, while programs for older ones are linted as well."""
REPORTED_IN_VAIN = {
    "conv_tbc": "the bias is copied",
    **(
        {"scaled_dot_product_attention": "a 0-dim mask on the CPU, which no program has and 2.15 refuses"}
        if RELEASE < (2, 15)
        else {}
    ),
}
NOT_REPORTED = {
    "logical_and logical_or logical_xor": "a 0-dim operand that comes first, like which the result is made",
    "embedding_renorm_": "changes weights, and is called by layers",
    "huber_loss": "a 0-dim target: only with `weight=`",
    "inner": "a 0-dim operand, which may be on the CPU in all that multiplies",
    "index_fill": "a 0-dim index: the value may be 0-dim",
    "normal": "draws, and has a transfer function of its own",
    "masked_fill": "a 0-dim mask, or a 0-dim tensor that is filled: the value may be 0-dim",
    "triplet_margin_with_distance_loss": "a function decides",
}


def names(table: Iterable[str]) -> set[str]:
    return {name for group in table for name in group.split()}


def calls(table: dict[str, str]) -> dict[str, str]:
    """The arguments by the name of the operation."""
    return {name: arguments for arguments, group in table.items() for name in group.split()}


def all_calls() -> dict[tuple[str, str], str]:
    """The arguments by namespace and name; the namespace of methods is empty."""
    functions, methods = calls(operations.FUNCTIONS), calls(operations.METHODS)
    spaces = {
        "torch": functions,
        "F": calls(operations.FUNCTIONAL),
        "torch.linalg": calls(operations.LINALG),
        "torch.fft": calls(operations.FFT),
        "": {**{name: functions[name] for name in LISTED[""] & functions.keys()}, **methods},
    }
    return {(space, name): text for space, table in spaces.items() for name, text in table.items()}


@dataclass(frozen=True)
class Line:
    """One call; the tensor number `at` is at `place`."""

    name: str
    text: str
    place: str
    at: int


def written(space: str, name: str, arguments: str, place: str, at: int) -> Line:
    count = iter(range(99))

    def tensor(match: re.Match[str]) -> str:
        letter = match[1]
        if next(count) != at:
            return operations.MADE[letter].format(at=", device=x.device")
        if place == SCALAR:
            return operations.SCALARS.get(letter, "torch.tensor(0.5)")
        return operations.MADE[letter].format(at="")

    first, comma, rest = arguments.partition(", ")
    if space:
        text = f"{space}.{name}({LETTER.sub(tensor, arguments)})"
    else:
        text = f"{LETTER.sub(tensor, first)}.{name}({LETTER.sub(tensor, rest) if comma else ''})"
    return Line(name.rstrip("_") if name.rstrip("_") in names(operations.FUNCTIONS.values()) else name, text, place, at)


def lines_of(space: str, name: str, arguments: str) -> Iterator[Line]:
    """The call in all placements. One tensor alone cannot disagree, unless it is written to."""
    letters = LETTER.findall(arguments)
    yield written(space, name, arguments, THERE, -1)
    if len(letters) > 1:
        for at, letter in enumerate(letters):
            if letter != "s":
                yield written(space, name, arguments, PLAIN, at)
            yield written(space, name, arguments, SCALAR, at)


def evaluate(text: str, x: Any) -> Any:
    """What torch gives, or the exception that it raises."""
    torch.manual_seed(0)
    try:
        return eval(text, {"torch": torch, "F": torch.nn.functional, "x": x})
    except Exception as error:  # noqa: BLE001 - any refusal will do
        return error


def all_lines() -> list[Line]:
    found: list[Line] = []
    for (space, name), arguments in all_calls().items():
        found += lines_of(space, name, arguments)
        if not space and not name.endswith("_") and hasattr(torch.Tensor, f"{name}_"):
            found += lines_of(space, f"{name}_", arguments)
    return found


@cache
def of_part(part: int) -> tuple[Line, ...]:
    """Those of one of the `PARTS` of all operations."""
    names = sorted({line.name for line in all_lines()})[part::PARTS]
    return tuple(line for line in all_lines() if line.name in names)


def listed(table: Iterable[str], part: int) -> set[str]:
    """The operations of a table that are of a part."""
    return names(table) & {line.name for line in of_part(part)}


@cache
def lines(part: int) -> tuple[Line, ...]:
    """Those that can be run on a CPU."""
    return tuple(line for line in of_part(part) if not isinstance(evaluate(line.text, torch.ones(3, 3)), Exception))


@cache
def reported(part: int) -> frozenset[Line]:
    head = [*HEAD.splitlines(), "class Net(nn.Module):", "    def forward(self, x: torch.Tensor):"]
    found: set[Line] = set()
    for start in range(0, len(lines(part)), BATCH):
        some = lines(part)[start : start + BATCH]
        rows = mixed_rows("\n".join([*head, *(f"        y = {line.text}" for line in some)]))
        found.update(some[row - len(head) - 1] for row in rows)
    return frozenset(found)


def places(value: Any) -> set[str]:
    """The types of the devices of the tensors in what a call gave."""
    if isinstance(value, torch.Tensor):
        return {value.device.type}
    return set().union(*map(places, value)) if isinstance(value, (tuple, list)) else set()


@cache
def outcomes(part: int) -> dict[Line, str | set[str]]:
    """The exception of each line on a simulated accelerator, or where its results are."""
    with simulate(2):
        x = torch.ones(3, 3, device="cuda")
        found = {line: evaluate(line.text, x) for line in lines(part)}
        return {
            line: f"{type(value).__name__}: {value}" if isinstance(value, Exception) else places(value)
            for line, value in found.items()
        }


@pytest.fixture(autouse=True)
def _quietly() -> Iterator[None]:
    """Without warnings, and on one thread: the tensors are small, and there are many."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


def test_every_listed_operation_is_called() -> None:
    made = torch_api.FACTORIES | torch_api.LIKE_FACTORIES | torch_api.NEW_METHODS
    called = all_calls()
    missing = {name for space, listed in LISTED.items() for name in listed - made if (space, name) not in called}
    assert missing == names(NOT_CALLED)


@of_each_part
def test_every_call_runs_on_a_cpu(part: int) -> None:
    running = {line.text for line in lines(part)}
    broken = [line for line in of_part(part) if line.place == THERE and line.text not in running]
    in_place = re.compile(r"\w_\(")
    removed = [group for group, (since, _) in REMOVED.items() if since <= RELEASE]
    assert {line.name for line in broken if not in_place.search(line.text)} == listed(removed, part)


@of_each_part
def test_on_one_device_it_runs_and_gives_what_is_there(part: int) -> None:
    """The linter takes the result of an operation to be where its operands are."""
    alone = {line: outcome for line, outcome in outcomes(part).items() if line.place == THERE}
    assert len(alone) > 900 // PARTS
    refused = {line.name: outcome for line, outcome in alone.items() if isinstance(outcome, str)}
    assert refused.keys() == listed(NOT_ON_CUDA, part), refused
    elsewhere = {line.name for line, outcome in alone.items() if isinstance(outcome, set) and outcome - {"cuda"}}
    assert elsewhere == listed(ELSEWHERE, part)
    assert [line.text for line in reported(part) if line.place == THERE] == []


@of_each_part
def test_what_is_reported_raises(part: int) -> None:
    lost = [line for line in reported(part) if not isinstance(outcomes(part)[line], str)]
    assert len(reported(part)) > 700 // PARTS
    assert {line.name for line in lost} == listed(REPORTED_IN_VAIN, part), sorted(line.text for line in lost)


@of_each_part
def test_what_raises_is_reported(part: int) -> None:
    mixed = [line for line, outcome in outcomes(part).items() if line.place != THERE and isinstance(outcome, str)]
    missed = [line for line in mixed if line not in reported(part) and line.name not in names(NOT_ON_CUDA)]
    assert {line.name for line in missed} == listed(NOT_REPORTED, part), sorted(line.text for line in missed)
