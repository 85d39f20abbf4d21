"""Shapes of code on which the inference must not take time out of proportion to their length.

The work is counted in Python calls, so that the tests do not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.counted import calls_of
from torchdevlint.config import Settings
from torchdevlint.engine import check_file

from .snippets import facts_of

CALLS_A_LINE = 3000


def work(text: str) -> int:
    """How many Python functions the inference calls for a file."""
    return calls_of(lambda: facts_of(text))


def functions_that_call_each_other(size: int) -> str:
    return "\n".join(
        f"def f{place}(x, y):\n"
        + "".join(f"    a{other} = f{other}(x, y)\n    b{other} = f{other}(y, x)\n" for other in range(size))
        + f"    return a{place}\n"
        for place in range(size)
    )


def loops_that_move_and_drop(size: int) -> str:
    return "".join(f"for x{place} in batch:\n    x{place} = x{place}.to(device)\n" for place in range(10 * size))


def loops_in_loops(size: int) -> str:
    text = "def f(x):\n    y = torch.zeros(3)\n"
    for depth in range(1, size + 1):
        text += "    " * depth + f"for i{depth} in range(3):\n" + "    " * (depth + 1) + f"y = y + i{depth} * x\n"
    return text


def returns_one_after_another(size: int) -> str:
    tests = "".join(f"    if k == {place}:\n        return torch.zeros({place})\n" for place in range(10 * size))
    return f"def f(x: torch.Tensor, k):\n{tests}    return x\n\ndef g(x: torch.Tensor, k):\n    return f(x, k) + x\n"


def creations_added_up(size: int) -> str:
    return (
        "class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        y = torch.zeros(3)\n"
        + "        y = y + torch.zeros(3)\n" * (10 * size)
        + "        return x + y\n"
    )


def checkpoints_loaded(size: int) -> str:
    return "".join(f"model{place}.load_state_dict(torch.load('{place}.pt'))\n" for place in range(10 * size))


def variables_set_late(size: int) -> str:
    lines = "".join(f"os.environ['CUDA_VISIBLE_DEVICES'] = '{place}'\n" for place in range(10 * size))
    return f"import os\ntorch.cuda.is_available()\n{lines}"


def statements_that_move(size: int) -> str:
    return "".join(f"x{place} = load()\nx{place}.to(device)\nprint(x{place}.size(0))\n" for place in range(5 * size))


def attributes_that_need_each_other(size: int) -> str:
    count = 20 * size
    return "class Net(nn.Module):\n" + "".join(
        f"    def step{place}(self, x):\n        self.a{place} = self.a{(place * 7 + 1) % count} + x\n"
        for place in range(count)
    )


SHAPES = [
    functions_that_call_each_other,
    loops_that_move_and_drop,
    loops_in_loops,
    returns_one_after_another,
    creations_added_up,
    checkpoints_loaded,
    variables_set_late,
    statements_that_move,
    attributes_that_need_each_other,
]


@pytest.mark.parametrize("shape", SHAPES)
def test_work_for_a_line_is_bounded(shape: Callable[[int], str]) -> None:
    work(shape(1))  # what is imported and read once in a process is not counted
    text = shape(12)
    assert work(text) / text.count("\n") < CALLS_A_LINE


def test_what_leads_to_many_findings_is_read_once(tmp_path: Path) -> None:
    """What the files of a project read by which name is the same for each of them."""
    (tmp_path / "lib.py").write_text("import os\n")

    def calls(size: int) -> int:
        path = tmp_path / "main.py"
        path.write_text("import torch\n" + "state = torch.load('a.pt')\n" * size)
        return calls_of(lambda: check_file(str(path), Settings()))

    calls(1)
    assert calls(120) < 7 * calls(30)


def test_a_loop_over_its_own_variable_ends() -> None:
    assert (
        facts_of("""
        class Stack(nn.Module):
            def forward(self, x):
                for layer in layer:
                    x = layer(x)
                for one in other.parts:
                    for other in one.parts:
                        x = other(x)
                return x
    """)
        == []
    )


def test_the_end_of_a_long_file_is_followed_as_its_beginning_is() -> None:
    """Two hundred functions that each call another three times take more than 600 calls in all."""
    called = "def g{0}(x):\n    return x + {0}\n\n"
    one = called + "def f{0}(x: torch.Tensor):\n    return g{0}(x) + g{0}(-x) * g{0}(x * 2)\n\n"
    long = "".join(map(one.format, range(200)))
    last = "def last(x: torch.Tensor):\n    return x + torch.zeros(3)\n"
    assert len(facts_of(long + last)) == len(facts_of(last)) == 1


def test_what_a_program_begins_with_is_run_once() -> None:
    """``main()`` on the top level is how `main` would be entered: it is not run as a call and entered besides."""
    body = "".join(f"    x = torch.zeros({place}) + {place}\n" for place in range(60))
    defined = f"def main():\n{body}"
    called = f"{defined}\nif __name__ == '__main__':\n    main()\n"
    used = f"{defined}\nif __name__ == '__main__':\n    given = main()\n"
    work(used)
    assert work(called) < 1.4 * work(defined) < work(used)
