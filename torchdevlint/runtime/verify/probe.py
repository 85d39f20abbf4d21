"""The form of a rule's ``PROBE``: a small program that makes the rule's claim happen.

A probe is a whole Python program, with these names at its top level:

* a docstring: the claim, in one sentence;
* ``NEEDS``: one of `NEEDS`;
* ``RAISES = {"RuntimeError": ["part of the message", "or of its other form"]}``, the exception that is the symptom,
  or ``OBSERVES = {"labels moved": False}``, what is seen when the symptom is silent;
* ``flagged(device)``: the pattern that the rule reports. It returns what is observed, a dict of plain values;
* ``repaired(device)``: the same after the edit that the rule asks for. It is the control: the claim holds only if the
  symptom shows in `flagged` and not in `repaired`.

Each of the two functions runs in a process of its own, a fork of one that has imported torch and used no device, in an
empty working directory. `device` is a `torch.device`, or None in a probe that needs none.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

NEEDS = {
    "cpu": "shows on a machine without GPUs: CUDA and ROCm devices that are there are hidden",
    "device": "any device but the CPU; `meta` will do, since only placement matters",
    "accelerator": "any accelerator",
    "cuda": "a CUDA device",
    "two": "two CUDA devices",
}
FUNCTIONS = ("flagged", "repaired")


@dataclass(frozen=True, slots=True)
class Probe:
    """What a probe says of itself; its functions are not run to learn it."""

    claim: str
    needs: str
    raises: tuple[tuple[str, tuple[str, ...]], ...]
    observes: tuple[tuple[str, Any], ...]
    source: str
    imports_torch: bool


def read(source: str) -> Probe:
    """The probe in `source`.

    Raises ValueError that says what is missing or contradicts itself; SyntaxError if it is not Python.
    """
    tree = ast.parse(source)
    claim = ast.get_docstring(tree)
    if not claim:
        raise ValueError("a probe starts with its claim, as a docstring")
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for name in FUNCTIONS:
        if name not in functions:
            raise ValueError(f"a probe defines {name}(device)")
    literals = _literals(tree)
    if literals.get("NEEDS") not in NEEDS:
        raise ValueError(f"NEEDS is one of {', '.join(NEEDS)}")
    raises, observes = literals.get("RAISES", {}), literals.get("OBSERVES", {})
    if bool(raises) == bool(observes):
        raise ValueError("a probe has either RAISES or OBSERVES")
    return Probe(
        claim=" ".join(claim.split()),
        needs=literals["NEEDS"],
        raises=tuple((name, tuple(parts)) for name, parts in raises.items()),
        observes=tuple(observes.items()),
        source=source,
        imports_torch=any(_imports_torch(node) for node in ast.walk(tree)),
    )


def _literals(tree: ast.Module) -> dict[str, Any]:
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Name) and target.id.isupper():
            found[target.id] = ast.literal_eval(node.value)
    return found


def _imports_torch(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] == "torch" for alias in node.names)
    return isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch"
