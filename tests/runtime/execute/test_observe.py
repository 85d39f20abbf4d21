"""What an exception of a real accelerator, of which nobody tells the operands, shows of a finding."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="where values are put is said by devices of torch")

import torch

from torchdevlint.runtime.execute.observe import of_error
from torchdevlint.runtime.execute.target import Region, Target
from torchdevlint.runtime.execute.values import Setting
from torchdevlint.runtime.execute.watch import Watch

REFUSED = (
    "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. "
    "Please ensure that the gradient and the tensor are on the same device"
)
ASSIGNED = "def keep(x, g):\n    x.grad = g\n"


class Leaf:
    """What refuses a gradient as a tensor of CUDA does one of the CPU."""

    @property
    def grad(self) -> None:
        return None

    @grad.setter
    def grad(self, _: object) -> None:
        raise RuntimeError(REFUSED)


@pytest.mark.parametrize(("flagged", "symptom"), [("x.grad", True), ("g", None)])
def test_what_an_assignment_refuses_shows_that_it_is_flagged(
    tmp_path: Path, flagged: str, symptom: bool | None
) -> None:
    path, names = tmp_path / "keep.py", {}
    path.write_text(ASSIGNED, encoding="utf-8")
    column = ASSIGNED.splitlines()[1].rindex(flagged) + 1
    target = Target(path, "TDL004", Region(2, column, 2, column + len(flagged)), (), source=ASSIGNED)
    exec(compile(ASSIGNED, str(path), "exec"), names)
    device = torch.device("cpu")
    with pytest.raises(RuntimeError) as raised:
        names["keep"](Leaf(), 1)
    shown = of_error(raised.value, Watch(target), Setting(device, device, device))
    assert shown.symptom is symptom
