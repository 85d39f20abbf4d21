"""Slices: which statements are kept, what they are given, and what they run as."""

from __future__ import annotations

import ast
import traceback
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="runs slices with torch")

from tests.conftest import a_part  # noqa: E402
from tests.runtime.execute.bench import Bench, by_hand, target_of  # noqa: E402
from torchdevlint.runtime.execute.errors import CannotBeginError  # noqa: E402
from torchdevlint.runtime.execute.slices import SliceProgram, programs  # noqa: E402
from torchdevlint.runtime.execute.values import Setting  # noqa: E402
from torchdevlint.runtime.verify.verdict import Rung  # noqa: E402

CPU = torch.device("cpu")
HERE = Setting(CPU, CPU, CPU)


def sliced(tmp_path: Path, text: str, marked: str, *notes: str, mode: str = "operation") -> SliceProgram:
    """The first slice of a snippet."""
    path = tmp_path / "model.py"
    path.write_text(text)
    return next(iter(programs(target_of(path, marked, *notes), mode)))


def kept(program: SliceProgram) -> list[str]:
    return [ast.unparse(each) for each in program.kept.statements]


def run(program: SliceProgram, setting: Setting = HERE, **given: Any) -> Any:
    """What a slice gives; slots that are not named get what is tried first for them."""
    values = {slot.key: given.get(slot.key, slot.candidates[0]) for slot in program.slots}
    return program.run(values, setting)[0]


FUNCTION = """\
import torch
from elsewhere import encode, decode


def total(x, y, size: int = 3):
    features = encode(x)
    width = features.shape[-1]
    scale = torch.ones(width)
    unused = torch.zeros(size)
    offset = torch.zeros(size)
    shifted = features * scale + offset
    return decode(shifted, y)
"""


def test_what_leads_to_the_flagged_statement_is_kept_as_far_as_it_is_known(tmp_path: Path) -> None:
    program = sliced(tmp_path, FUNCTION, "features * scale + offset", "torch.ones(width)")
    assert kept(program) == [
        "width = features.shape[-1]",
        "scale = torch.ones(width)",
        "offset = torch.zeros(size)",
        "shifted = features * scale + offset",
    ]
    assert [slot.key for slot in program.slots] == ["features", "size"]
    assert program.wanted == (frozenset({11}), frozenset({8}))
    assert not program.complete, "that nothing goes wrong says nothing"


def test_a_slice_is_run_with_its_slots(tmp_path: Path) -> None:
    program = sliced(tmp_path, FUNCTION, "features * scale + offset", "torch.ones(width)")
    result = run(program, size={"is": "value", "value": 8})
    assert result.shape == (8, 8)


def test_an_annotation_says_what_a_slot_is(tmp_path: Path) -> None:
    program = sliced(tmp_path, FUNCTION, "features * scale + offset", "torch.ones(width)")
    (size,) = (slot for slot in program.slots if slot.key == "size")
    assert {one["is"] for one in size.candidates} == {"value"}


def test_the_lines_are_those_of_the_file(tmp_path: Path) -> None:
    program = sliced(tmp_path, FUNCTION, "features * scale + offset", "torch.ones(width)")
    with pytest.raises(RuntimeError, match="must match the size") as caught:
        run(program, size={"is": "value", "value": 5})
    (frame,) = (each for each in traceback.extract_tb(caught.value.__traceback__) if each.filename.endswith("model.py"))
    assert (frame.lineno, frame.line) == (11, "shifted = features * scale + offset")


def test_what_is_returned_is_the_result(tmp_path: Path) -> None:
    program = sliced(
        tmp_path, "import torch\n\ndef f(x):\n    return (\n        x + 1,\n    )\n", "return (\n        x + 1,"
    )
    (result,) = run(program, x={"is": "value", "value": 3})
    assert result == 4
    bare = sliced(tmp_path, "import torch\n\ndef f(x):\n    x += 1\n    return\n", "x += 1", "return")
    assert run(bare) is None


def test_the_value_of_the_last_assignment_is_the_result(tmp_path: Path) -> None:
    program = sliced(tmp_path, "import torch\n\ndef f(x):\n    y = x + 1\n    return g(y)\n", "y = x + 1")
    assert run(program, x={"is": "value", "value": 3}) == 4


CLASS = """\
import torch
from elsewhere import Encoder


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.encoder = Encoder(width)
        self.scale = torch.nn.Parameter(torch.ones(self.width))
        self.register_buffer("offset", torch.zeros(3))
        self.unused = torch.zeros(5)

    def forward(self, x):
        y = self.encoder(x)
        hidden = torch.zeros(len(y))
        return y * self.scale + hidden
"""


def test_what_init_makes_is_made_and_the_rest_of_self_is_given(tmp_path: Path) -> None:
    program = sliced(tmp_path, CLASS, "return y * self.scale + hidden", "torch.zeros(len(y))")
    assert kept(program) == ["hidden = torch.zeros(len(y))", "return y * self.scale + hidden"]
    made = [ast.unparse(each) for each in program.init]
    assert "self.scale = torch.nn.Parameter(torch.ones(self.width))" in made
    assert "self.width = width" in made
    assert not any("unused" in each or "Encoder" in each for each in made)
    assert [slot.key for slot in program.slots] == ["width", "y"]
    assert run(program).shape == (8, 8)


def test_self_is_a_module_that_is_moved_before_the_slice_runs(tmp_path: Path) -> None:
    """What is registered moves, and what is given for `__init__` is on the CPU before."""
    text = CLASS.replace("torch.ones(self.width)", "width")
    program = sliced(tmp_path, text, "return y * self.scale + hidden", "torch.zeros(len(y))")
    meta = torch.device("meta")
    values = {"width": {"is": "tensor", "shape": [8], "dtype": "float32"}}
    given = {slot.key: values.get(slot.key, slot.candidates[0]) for slot in program.slots}
    _, owner = program.run(given, Setting(meta, CPU, CPU))
    assert owner.scale.device == CPU
    with pytest.raises(RuntimeError, match="meta"):
        program.run(given, Setting(meta, CPU, meta))


def test_attributes_that_init_does_not_make_are_slots(tmp_path: Path) -> None:
    text = "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + self.bias\n"
    program = sliced(tmp_path, text, "x + self.bias")
    assert [slot.key for slot in program.slots] == ["x", "self.bias"]
    assert run(program).shape == (8, 8)


def test_batches_of_a_loop_stay_on_the_cpu(tmp_path: Path) -> None:
    text = "import torch\n\ndef train(loader, w):\n    for x, y in loader:\n        z = x @ w\n"
    program = sliced(tmp_path, text, "z = x @ w")
    places = {slot.key: {one.get("on") for one in slot.candidates if one["is"] == "tensor"} for slot in program.slots}
    assert places == {"x": {"cpu"}, "w": {None}}


def test_the_test_of_an_if_is_taken_without_its_body(tmp_path: Path) -> None:
    text = "import torch\n\ndef f(x, y):\n    if (x == y).all():\n        send(x)\n    return x\n"
    program = sliced(tmp_path, text, "(x == y).all()")
    assert kept(program) == ["(x == y).all()"]


def test_a_short_loop_is_taken_whole(tmp_path: Path) -> None:
    text = "import torch\n\ndef f(xs, y):\n    for x in xs:\n        x.to(y)\n"
    assert kept(sliced(tmp_path, text, "for x in xs"))[0].startswith("for x in xs:")


def test_a_flagged_function_stands_in_the_place_of_its_call(tmp_path: Path) -> None:
    text = (
        "import torch\n\n\ndef mask_of(n):\n    log(n)\n    made = torch.ones(n)\n    return made\n\n\n"
        "def use(x):\n    mask = mask_of(x.shape[-1])\n    return x * mask\n"
    )
    program = sliced(tmp_path, text, "torch.ones(n)", "return x * mask")
    assert program.callee is not None
    assert kept(program) == ["mask = mask_of(x.shape[-1])", "return x * mask"]
    assert [ast.unparse(each) for each in program.callee.kept.statements] == ["made = torch.ones(n)", "return made"]
    assert [slot.key for slot in program.slots] == ["x"]
    assert run(program).shape == (8, 8)


def test_a_module_is_sliced_where_no_function_is_flagged(tmp_path: Path) -> None:
    text = "import torch\nfrom elsewhere import fetch\n\nx = fetch()\nw = torch.ones(8)\ny = x * w\n"
    program = sliced(tmp_path, text, "y = x * w")
    assert program.place is None
    assert kept(program) == ["w = torch.ones(8)", "y = x * w"]
    assert [slot.key for slot in program.slots] == ["x"]
    assert run(program).shape == (8, 8)


@pytest.mark.parametrize("mode", ["registration", "checkpoint", "environment"])
def test_what_is_about_classes_or_statements_is_not_sliced(tmp_path: Path, mode: str) -> None:
    with pytest.raises(CannotBeginError, match="not taken out of their function"):
        sliced(tmp_path, FUNCTION, "torch.ones(width)", mode=mode)


def test_what_is_no_simple_statement_cannot_be_taken_out(tmp_path: Path) -> None:
    text = "import torch\n\ndef f(x):\n    with x.lock():\n        pass\n"
    with pytest.raises(CannotBeginError, match="cannot be taken out of its function"):
        sliced(tmp_path, text, "with x.lock()")


LEFT_BEFORE = """
    import nolibrary
    import numpy as np
    import torch


    def to_host(array, shape=None):
        {test}
            return {first}
        return {flagged}
"""


@pytest.mark.parametrize(
    ("test", "first", "is_shown"),
    a_part([
        ("if hasattr(array, 'detach'):", "array.detach().cpu()", False),
        ("if isinstance(array, torch.Tensor):", "array.cpu()", False),
        ("if not torch.is_tensor(array):", "array", True),
        ("if array is None:", "array", True),
        ("if nolibrary.knows(array):", "array", True),
        ("if shape is not None:", "array", True),
    ]),
)
def test_values_with_which_the_function_leaves_before_are_none(
    bench: Bench, test: str, first: str, is_shown: bool
) -> None:
    """The finding is made by hand; its module cannot be imported."""
    for flagged in ("array.numpy()", "np.asarray(array)"):  # of which the second takes lists of tensors
        path = bench.write(LEFT_BEFORE.format(test=test, first=first, flagged=flagged))
        found = bench.climb(by_hand(path, "TDL006", flagged, symptom="TypeError"))
        assert (found.judgement is not None and found.judgement.rung is Rung.SLICE) is is_shown


IN_AN_ARM = """
    import nolibrary
    import torch


    def to_host(array):
        if isinstance(array, {kind}):
            return array.{move}()
        elif array is None:
            return array
        else:
            return array.numpy()
"""


@pytest.mark.parametrize(("kind", "move", "is_shown"), [("torch.Tensor", "cpu", False), ("list", "copy", True)])
def test_values_that_take_another_arm_are_none(bench: Bench, kind: str, move: str, is_shown: bool) -> None:
    path = bench.write(IN_AN_ARM.format(kind=kind, move=move))
    found = bench.climb(by_hand(path, "TDL006", "array.numpy()", symptom="TypeError"))
    assert (found.judgement is not None and found.judgement.rung is Rung.SLICE) is is_shown
