"""Values that a file shows itself: in examples, as a script, in functions that need no argument."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="what was flagged is executed with torch")

from tests.runtime.execute.bench import Bench
from torchdevlint.runtime.execute.reading import shows_its_use
from torchdevlint.runtime.verify.verdict import Rung, Verdict

MODEL = """
    from types import SimpleNamespace

    import torch
    from torch import nn


    class Gate(nn.Module):
        {example}

        def __init__(self, options, parts):
            super().__init__()
            if options.kind.name != "soft" or sum(parts) != 7:
                raise ValueError("no such gate")
            self.layer = nn.Linear(options.width, options.width)

        def forward(self, x):
            return self.layer(x) * torch.ones({size})
"""
MADE = "Gate(SimpleNamespace(width=12, kind=SimpleNamespace(name='soft')), [3, 4])"
DOCSTRING = f'''"""A gate.

        >>> gate = {MADE}
        >>> gate(torch.rand(2, 12)).shape
        >>> gate.no_such_thing
        """'''
CALLED = f"{MADE}(torch.rand(2, 12))"
SCRIPT = f"""

    if __name__ == "__main__":
        print({CALLED})
"""
FACTORY = f"""

    def soft_gate():
        return {MADE}
"""


@pytest.mark.parametrize(
    ("example", "more"), [(DOCSTRING, ""), ("", SCRIPT), ("", FACTORY)], ids=["docstring", "script", "factory"]
)
def test_what_a_file_shows_is_called(bench: Bench, example: str, more: str) -> None:
    found = bench.judgement(bench.finding(MODEL.format(example=example, size="12") + more))
    assert (found.verdict, found.rung) == (Verdict.CONFIRMED, Rung.SYNTHESISED)
    inputs = found.evidence.inputs or {}
    assert "Gate(" in inputs["self"]
    assert "12 on cuda:0" in inputs["x"]


def test_an_example_that_is_right_refutes_nothing_else(bench: Bench) -> None:
    """The example does not come to the flagged expression, which is reached with other values."""
    text = MODEL.format(example=DOCSTRING, size="12").replace("* torch.ones(12)", "+ (torch.ones(12) if flag else 0)")
    found = bench.judgement(bench.finding(text.replace("(self, x)", "(self, x, flag=False)")))
    assert found.verdict is Verdict.CONFIRMED
    assert (found.evidence.inputs or {})["flag"] == "True"


def test_what_shows_nothing_is_not_asked() -> None:
    assert not shows_its_use("def f(x):\n    return g(x)\n\ndef h():\n    return print(1)\n")
    assert not shows_its_use("def f(x, *, y):\n    return x\n\ndef g(x):\n    return f(x, y=1)\n")
    assert shows_its_use("def f(x):\n    return x\n\ndef g(size=3):\n    return f(size)\n")
