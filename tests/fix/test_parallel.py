"""What fixes of models in `DataParallel` write, and where there is none."""

from __future__ import annotations

import pytest

from tests.fix.test_placements import fixed


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        ('nn.DataParallel(nn.Linear(4, 2).to("cuda:1"), device_ids=[0, 1, 2])', "device_ids=[1, 0, 2])"),
        ("nn.DataParallel(nn.Linear(4, 2).cuda(1), (0, 1))", "[1, 0])"),
        ('nn.DataParallel(nn.Linear(4, 2).to("cuda:1"), device_ids=[2, 3])', "device_ids=[2, 3])"),
        ('nn.DataParallel(nn.Linear(4, 2).to("cuda:1"))', '.to("cuda:1"))'),
        ("nn.DataParallel(nn.Linear(4, 2), device_ids=[0, 1])", "nn.Linear(4, 2).to(device), device_ids=[0, 1])"),
        ("nn.DataParallel(nn.Linear(4, 2), device_ids=[1, 0])", "nn.Linear(4, 2), device_ids=[1, 0])"),
        ("nn.DataParallel(nn.Linear(4, 2))", "nn.DataParallel(nn.Linear(4, 2).to(device))"),
    ],
)
def test_the_list_begins_with_the_gpu_of_the_model_or_the_model_is_moved(wrap: str, expected: str) -> None:
    body = f"def f(x, device):\n    model = {wrap}\n    return model(x)\n"
    assert fixed(body).splitlines()[1].endswith(expected)
    assert fixed(body, unsafe=False) == body


@pytest.mark.parametrize(
    "body",
    [
        "def f(x):\n    model = nn.DataParallel(nn.Linear(4, 2))\n    return model(x)\n",
        'def f(x):\n    model = nn.DataParallel(nn.Linear(4, 2))\n    d = torch.device("cuda")\n    return model(x)\n',
        'def f(x, device="cpu"):\n    model = nn.DataParallel(nn.Linear(4, 2).to("cpu"))\n    return model(x)\n',
    ],
)
def test_a_model_is_moved_to_what_is_bound_before_the_wrap(body: str) -> None:
    assert fixed(body) == body
