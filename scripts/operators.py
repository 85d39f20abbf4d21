"""Bake the tables of `torchdevlint/runtime/simulated/operators/tables.py` from the installed torch.

    python scripts/operators.py write     # after a new release of torch
    python scripts/operators.py check     # 1 if a kernel of the installed torch is missing or has another rule

torch's wheels carry torchgen and native_functions.yaml: everything is read there, nothing is executed on a device.
Overloads of older releases are kept; a table says nothing of an overload that the installed torch does not have.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from importlib.metadata import version
from pathlib import Path

from command import write_or_check

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "torchdevlint/runtime/simulated/operators/tables.py"

# NoCheck kernels with one input that are no iterators over their out=: `set_output` compares devices instead.
OUT = """
all.all_out all.dims_out all.out aminmax.out angle.out any.all_out any.dims_out any.out cumprod.out cumsum.out
log_sigmoid_forward.output max.dim_max max.unary_out mean.out min.dim_min min.unary_out norm.dtype_out norm.out
prod.int_out renorm.out std.correction_out sum.IntList_out var.correction_out dot.out vdot.out mv.out
"""
NO_RULE = """
_cudnn_ctc_loss _cudnn_ctc_loss.Tensor _cudnn_rnn _efficient_attention_backward _flash_attention_backward
_nested_from_padded _nested_view_from_buffer _scaled_dot_product_efficient_attention_backward
_scaled_dot_product_flash_attention_backward _use_cudnn_ctc_loss _use_cudnn_ctc_loss.Tensor _use_miopen_ctc_loss
_use_miopen_ctc_loss.Tensor _validate_compressed_sparse_indices is_set_to miopen_ctc_loss miopen_ctc_loss.Tensor
copy_sparse_to_sparse_ resize_as_sparse_
"""
# What was in a table before a release; `operators.structured` knows it.
EARLIER = {
    "STRUCTURED": ((2, 10), {"hypot", "hypot.out", "hypot_"}),
    "UNSTRUCTURED": ((2, 14), {"_scaled_grouped_mm_v2", "_scaled_mm_v2", "_scaled_mm_v2.out"}),
}
HEADER = '''"""Which overload has which device check, as torchgen makes CUDA's kernels from native_functions.yaml.

Written by ``python scripts/operators.py write``; not to be edited. Only overloads with two tensors or more are listed:
one tensor agrees with itself.
"""

from __future__ import annotations
'''
TITLES = {
    "STRUCTURED": "# Kernels with a generated check: structured ones ...",
    "UNSTRUCTURED": "# ... and others; the two have names of different forms in the texts.",
    "ITERATOR": "# `device_check: NoCheck`, because TensorIterator has its own check.",
    "OUT": "# `device_check: NoCheck` and one input: its out= arguments are compared with it.",
}


def tables() -> dict[str, set[str]]:
    """The names of each table, for the installed torch: kernels for dense tensors, and those for sparse ones only."""
    import torchgen
    from torchgen.gen import get_grouped_native_functions, parse_native_yaml
    from torchgen.model import DeviceCheckType, DispatchKey, NativeFunction, NativeFunctionsGroup

    folder = Path(torchgen.__file__).parent / "packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    index = parsed.backend_indices[DispatchKey.CUDA]
    layouts = [parsed.backend_indices[key] for key in (DispatchKey.SparseCUDA, DispatchKey.SparseCsrCUDA)]
    found: dict[str, set[str]] = {name: set() for name in TITLES}

    def add(function: NativeFunction, structured: bool) -> None:
        name = str(function.func.name)
        tensors = [argument for argument in function.func.arguments.flat_all if argument.type.is_tensor_like()]
        alone = len(tensors) < 2 and not any(argument.type.is_list_like() for argument in tensors)
        if alone or name.startswith("_foreach"):
            return
        if name in NO_RULE.split():
            return
        if function.device_check != DeviceCheckType.NoCheck:
            found["STRUCTURED" if structured else "UNSTRUCTURED"].add(name)
        elif name not in OUT.split():
            found["ITERATOR"].add(name)

    for group in get_grouped_native_functions(parsed.native_functions):
        if isinstance(group, NativeFunctionsGroup) and group.structured:
            if index.get_kernel(group) is not None:
                for function in group.functions():
                    add(function, True)
            continue
        for function in group.functions() if isinstance(group, NativeFunctionsGroup) else (group,):
            dense = index.has_kernel(function) or function.has_composite_kernel
            if index.has_kernel(function) or (not dense and any(layout.has_kernel(function) for layout in layouts)):
                add(function, False)
    found["OUT"] = set(OUT.split())
    return found


def baked() -> dict[str, set[str]]:
    """The names of each table as they are in the file."""
    scope: dict[str, frozenset[str]] = {}
    if TABLES.exists():
        exec(TABLES.read_text(encoding="utf-8"), scope)
    return {name: set(scope.get(name, ())) for name in TITLES}


def write(options: argparse.Namespace) -> int:
    old, new = baked(), tables()
    known = set().union(*new.values())
    parts = [HEADER]
    for name, title in TITLES.items():
        names = sorted(new[name] | (old[name] - known))
        lines = textwrap.wrap(" ".join(names), 118, break_long_words=False, break_on_hyphens=False)
        parts.append(f'{title}\n{name} = frozenset(\n    """\n{chr(10).join(lines)}\n    """.split()\n)\n')
    TABLES.write_text("\n".join(parts), encoding="utf-8")
    return 0


def differences() -> list[str]:
    """What the installed torch has and the file has not, or has in another table for no known reason."""
    old, new = baked(), tables()
    installed = tuple(int(number) for number in version("torch").split(".")[:2])
    for name, (release, overloads) in EARLIER.items():
        if installed < release:
            old[name] |= overloads
    return [f"{name}: {overload}" for name in TITLES for overload in sorted(new[name] - old[name])]


def check(options: argparse.Namespace) -> int:
    missing = differences()
    for line in missing:
        print(f"missing in {TABLES.name}: {line}", file=sys.stderr)
    return int(bool(missing))


def main() -> int:
    return write_or_check(__doc__, "operators.py", write, check)


if __name__ == "__main__":
    sys.exit(main())
