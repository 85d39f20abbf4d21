"""Bake the types of numbers that one of two backends lacks, from torch's own database of operators.

    python scripts/kernel_types.py write     # after a new release of torch; a minute
    python scripts/kernel_types.py check     # 1 if the installed torch says otherwise

`OpInfo.dtypes` says what an operator takes on the CPU, `dtypesIfCUDA` what it takes there. An operator of the database
is made of several overloads, so the one to blame is found by elimination: every sample runs, and an overload that is
given a type alone is *cleared* if any operator that has the type on CUDA runs it so. It is blamed if it is the only one
left in an operator that lacks the type. What the CPU lacks needs no elimination: the overload raises.

What the database cannot tell is left out: half precision and bfloat16 depend on the compute capability and on the
libraries of a build; of mixed types, of sparse and of empty tensors nothing is said; where two overloads are left,
neither is blamed. A type that is missing on one of the machines that torch's own tests run on is missing there.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from command import write_or_check

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "torchdevlint/runtime/simulated/operators/kernel_types.py"
TYPES = ("bool", "complex64", "int8", "int16", "int32", "int64", "uint8")
"""What is the same on every GPU and in every build. Operators without any kernel for CUDA are not the matter here."""
MOST_SAMPLES = 40
HEADER = '''"""Which overload lacks which types of numbers on one of two backends, by torch's own database of operators.

Written by ``python scripts/kernel_types.py write``; not to be edited. Only what holds for every GPU is listed.
"""

from __future__ import annotations
'''

Table = dict[str, set[str]]


def found() -> dict[str, Table]:
    """Both tables, for the installed torch."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db

    warnings.simplefilter("ignore")
    blamed: list[set[tuple[str, str]]] = []
    cleared: set[tuple[str, str]] = set()
    on_cuda: Table = defaultdict(set)
    on_cpu: Table = defaultdict(set)
    for info in op_db:
        for name in TYPES:
            dtype = getattr(torch, name)
            cpu, cuda = dtype in info.dtypes, dtype in info.dtypesIfCUDA
            if not (cpu or cuda) or (cpu and cuda and name.startswith("complex")):
                continue
            ran, raised = overloads_of(info, dtype)
            if cpu and cuda:
                cleared |= ran
            elif cpu:
                blamed.append(ran)
            else:
                for overload, kind in raised:
                    on_cpu[overload].add(kind)
    for ran in blamed:
        left = ran - cleared
        if len(left) == 1:
            ((overload, kind),) = left
            on_cuda[overload].add(kind)
    return {"LACKED_BY_CUDA": on_cuda, "LACKED_BY_THE_CPU": on_cpu}


def overloads_of(info: Any, dtype: Any) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """The overloads that samples of an operator run, each with the only type of its tensors, and those that raise."""
    from torch.utils._python_dispatch import TorchDispatchMode

    ran: set[tuple[str, str]] = set()
    raised: set[tuple[str, str]] = set()

    class Seen(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kind = only_type(args, kwargs or {})
            name = func.name().removeprefix("aten::")
            if kind is not None:
                ran.add((name, kind))
            try:
                return func(*args, **(kwargs or {}))
            except RuntimeError:
                if kind is not None:
                    raised.add((name, kind))
                raise

    try:
        samples = list(info.sample_inputs("cpu", dtype, requires_grad=False))[:MOST_SAMPLES]
    except Exception:  # noqa: BLE001 (some samples are made with operators that the CPU lacks)
        return ran, raised
    for sample in samples:
        with Seen():
            try:
                info(sample.input, *sample.args, **sample.kwargs)
            except Exception:  # noqa: BLE001
                continue
    return ran, raised


def only_type(args: Any, kwargs: Mapping[str, Any]) -> str | None:
    """The type of the tensors of a call, if they have one and none is empty."""
    import torch

    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    kinds = {str(tensor.dtype).removeprefix("torch.") for tensor in tensors if tensor.numel()}
    return kinds.pop() if len(kinds) == 1 and all(tensor.numel() for tensor in tensors) else None


def baked() -> dict[str, Table]:
    """Both tables as they are in the file."""
    scope: dict[str, Any] = {}
    if TABLE.exists():
        exec(TABLE.read_text(encoding="utf-8"), scope)
    return {
        name: {overload: set(kinds.split()) for overload, kinds in scope.get(name, {}).items()}
        for name in ("LACKED_BY_CUDA", "LACKED_BY_THE_CPU")
    }


def rendered(tables: Mapping[str, Table]) -> str:
    parts = [HEADER]
    for name, table in tables.items():
        rows = "".join(f'    "{overload}": "{" ".join(sorted(table[overload]))}",\n' for overload in sorted(table))
        parts.append(f"{name}: dict[str, str] = {{\n{rows}}}\n")
    return "\n".join(parts)


def differences(old: Mapping[str, Table], new: Mapping[str, Table]) -> Iterable[str]:
    for name in new:
        for overload in sorted(old[name].keys() | new[name].keys()):
            before, now = old[name].get(overload, set()), new[name].get(overload, set())
            if before != now:
                yield f"{name}: {overload}: {' '.join(sorted(before))} here, {' '.join(sorted(now))} in torch"


def write(options: argparse.Namespace) -> int:
    TABLE.write_text(rendered(found()), encoding="utf-8")
    return 0


def check(options: argparse.Namespace) -> int:
    lines = list(differences(baked(), found()))
    for line in lines:
        print(line, file=sys.stderr)
    return int(bool(lines))


def main() -> int:
    return write_or_check(__doc__, "kernel_types.py", write, check)


if __name__ == "__main__":
    sys.exit(main())
