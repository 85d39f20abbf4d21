"""Every operator of torch's own test database with all operands on one accelerator: no error, and results are there.

What works on the plain CPU must work on the simulated accelerator: anything else is a false alarm, or is listed here
with its reason. The samples are those of `torch.testing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves

from tests.conftest import a_part
from torchdevlint.runtime.simulated import simulate

pytest.importorskip("expecttest", reason="torch's database of operators needs it")
SAMPLES = 2
PARTS = 3
KNOWN = {
    "histogram": "has no CUDA kernel: it raises on real hardware as well",
    "histogramdd": "has no CUDA kernel: it raises on real hardware as well",
    "sparse.mm": "with `reduce` it has no CUDA kernel: it raises on real hardware as well",
    "_softmax_backward_data": "the mixed types of its samples for CUDA are not implemented on the CPU",
    "linalg.lu": "without pivoting it is not implemented on the CPU: refused by name",
    "linalg.lu_factor": "without pivoting it is not implemented on the CPU: refused by name",
    "linalg.lu_factor_ex": "without pivoting it is not implemented on the CPU: refused by name",
    "linalg.matrix_rank": "of an empty matrix it makes its result in C++, which cannot be told from one of the CPU",
}


def calls(operator: Any, device: str) -> Iterator[Any]:
    """The first samples of an operator, as calls without arguments."""
    supported = operator.supported_dtypes("cpu")
    dtype = torch.float32 if torch.float32 in supported else next(iter(sorted(supported, key=str)), torch.float32)
    for sample in islice(operator.sample_inputs(device, dtype), SAMPLES):
        yield lambda sample=sample: operator(sample.input, *sample.args, **sample.kwargs)


def on_the_cpu(operator: Any) -> list[bool]:
    """Which of them work there; none of an operator whose samples want CUDA's driver (2.10: `_scaled_mm_v2`)."""
    try:
        return [works(call) for call in calls(operator, "cpu")]
    except RuntimeError as error:
        if "NVIDIA driver" not in str(error):
            raise
        return []


def works(call: Any) -> bool:
    try:
        call()
    except Exception:  # noqa: BLE001 -- whatever an operator raises, it does not work
        return False
    return True


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", a_part(range(PARTS)))
def test_no_operator_raises_or_leaves_the_accelerator(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.testing._internal import common_utils
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo import core

    for module in (common_utils, core):  # that no test of torch asks for samples is searched for in the stack each time
        monkeypatch.setattr(module, "extract_test_fn", lambda: None, raising=False)

    operators = op_db[part::PARTS]
    good = [on_the_cpu(operator) for operator in operators]
    strange, count = {}, 0
    with simulate(1):
        for operator, fine in zip(operators, good, strict=True):
            # there are more samples for CUDA; the first ones are the same
            for call in (call for works_there, call in zip(fine, calls(operator, "cuda"), strict=False) if works_there):
                count += 1
                try:
                    devices = {str(leaf.device) for leaf in tree_leaves(call()) if isinstance(leaf, torch.Tensor)}
                except Exception as error:  # noqa: BLE001 -- any error is a false alarm
                    strange[operator.name] = f"{type(error).__name__}: {error}"
                    continue
                if devices - {"cuda:0"}:
                    strange[operator.name] = f"its result is on {devices}"
    assert count > 1000 // PARTS
    assert {name: what for name, what in strange.items() if name not in KNOWN} == {}
