"""Programs for findings whose symptom is no tensor's place: checkpoints, prefixes of state dicts, visible devices.

Each runs the flagged statement itself, with what it reads from torch and the standard library, in machines of its own.
"""

from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from torchdevlint.runtime.execute.errors import CannotBeginError
from torchdevlint.runtime.execute.observe import Observation
from torchdevlint.runtime.execute.reading import imports_of
from torchdevlint.runtime.execute.target import Region, Target, statement_at
from torchdevlint.runtime.simulated import simulate

VISIBLE = "CUDA_VISIBLE_DEVICES"
MANY = 8
_FILE = "__torchdevlint_file__"
_PLACES = (None, "f", "url", "model_dir", "file_name", "check_hash")
"""Arguments of loads that say where the file is."""


def checkpoint(target: Target) -> Observation:
    """The flagged load, with its own arguments but for the file, which was saved on an accelerator.

    The control is a machine with an accelerator, where it loads; then one without.
    """
    call, namespace = _call_at(target, target.at), _namespace(target)
    try:
        function = eval(compile(_expression(call.func), str(target.path), "eval"), namespace)  # noqa: S307 (the user's own)
    except Exception as error:
        raise CannotBeginError(f"`{ast.unparse(call.func)}` is not torch's own here") from error
    if function not in (torch.load, torch.hub.load_state_dict_from_url):
        raise CannotBeginError(f"`{ast.unparse(call.func)}` is not torch's own")
    unknown = [each for each in call.keywords if not _reads_only(each.value, namespace)]
    if len(call.args) > 1 or any(each.arg is None or each.arg == "map_location" for each in call.keywords):
        raise CannotBeginError("the arguments of the load cannot be told")
    kept = [each for each in call.keywords if each.arg not in _PLACES and each not in unknown]
    again = ast.Call(call.func, [ast.Name(_FILE, ast.Load())], kept)
    code = compile(_expression(ast.copy_location(again, call)), str(target.path), "eval")
    file = Path("checkpoint.pt").absolute()
    namespace[_FILE] = str(file)
    if function is not torch.load:  # it finds the file in its cache, and asks no network
        torch.hub.set_dir(str(file.parent))
        namespace[_FILE] = f"https://localhost/{file.name}"
        file = file.parent / "checkpoints" / file.name
        file.parent.mkdir()
    with simulate(1):
        torch.save({"weight": torch.ones(2, device="cuda")}, file)
        loaded = eval(code, namespace)["weight"]  # noqa: S307
        there = str(loaded.device)
    with simulate(0):
        try:
            loaded = eval(code, namespace)["weight"]  # noqa: S307
        except RuntimeError as error:
            told = f"{type(error).__name__}: {error}"
            observed = {"with an accelerator": f"loads to {there}", "without one": "raises"}
            return Observation("deserialize object on" in str(error), "", told, None, observed)
        return Observation(False, observed={"with an accelerator": there, "without one": str(loaded.device)})


def environment(target: Target) -> Observation:
    """The flagged assignment, after what the notes point to: which of eight devices are seen before and after."""
    statements = statement_at(target.tree.body, target.at)
    if not statements:
        raise CannotBeginError("the flagged line is no statement")
    statement, namespace = statements[-1], _namespace(target)
    os.environ.pop(VISIBLE, None)
    with simulate(MANY):
        for region in target.notes:
            node = _node_at(target, region)
            if node is not None and _reads_only(node, namespace):
                touched = eval(compile(_expression(node), str(target.path), "eval"), namespace)  # noqa: S307
                if isinstance(touched, torch.cuda.device):
                    with touched:
                        pass
        before = torch.cuda.device_count() if target.notes else MANY
        told = None
        try:
            for name in _missing(statement, namespace):
                namespace[name] = _Chosen("1")
            exec(compile(ast.Module([statement], []), str(target.path), "exec"), namespace)  # noqa: S102
        except TypeError as error:
            return Observation(True, "", f"TypeError: {error}", None, {"devices seen before": before})
        wanted = os.environ.get(VISIBLE)
        torch.cuda.init()
        after = torch.cuda.device_count()
        asked = MANY if wanted is None else len([each for each in wanted.split(",") if each.strip()])
        observed = {"visible": wanted, "devices seen before": before, "devices seen after": after}
        if target.code == "TDL302":
            useless = after == MANY and (wanted is None or asked != MANY)
            return Observation(useless or None, "the value may be meant", told, None, observed)
        why = "the devices changed with the variable: what came before it is not known well enough"
        return Observation(after != asked or None, why, told, None, observed)


class _Chosen(str):
    """Stands for what the user chose: a GPU, or options that hold one."""

    __slots__ = ()

    def __getattr__(self, name: str) -> str:
        return str(self)


class KeysThatAreSaved:
    """While entered, `torch.save` writes nothing and remembers the keys of what it is given."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self._real = torch.save

    def __enter__(self) -> KeysThatAreSaved:
        torch.save = self._save
        return self

    def __exit__(self, *_exc_info: object) -> None:
        torch.save = self._real

    def _save(self, value: Any, *_rest: Any, **_options: Any) -> None:
        self.keys += _keys_in(value)

    def observation(self) -> Observation:
        prefixed = [key for key in self.keys if key.startswith(("module.", "_orig_mod."))]
        if not self.keys:
            return Observation(None, "nothing was saved")
        expected = [key.partition(".")[2] for key in prefixed]
        observed = {"keys saved": prefixed[:4] or self.keys[:4], "keys expected": expected[:4] or self.keys[:4]}
        return Observation(bool(prefixed), observed=observed)


def _keys_in(value: Any, depth: int = 3) -> Iterator[str]:
    if isinstance(value, dict) and depth:
        for key, each in value.items():
            if isinstance(each, torch.Tensor):
                yield str(key)
            else:
                yield from _keys_in(each, depth - 1)


def _namespace(target: Target) -> dict[str, Any]:
    imports, _ = imports_of(target.tree)
    namespace: dict[str, Any] = {"__name__": "slice", "__file__": str(target.path)}
    tree = ast.fix_missing_locations(ast.Module(list(imports), []))
    exec(compile(tree, str(target.path), "exec"), namespace)  # noqa: S102
    for node in target.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with suppress(ValueError):
                namespace[node.targets[0].id] = ast.literal_eval(node.value)
    return namespace


def _call_at(target: Target, at: Region) -> ast.Call:
    node = _node_at(target, at)
    if not isinstance(node, ast.Call):
        raise CannotBeginError("the flagged expression is no call")
    return node


def _node_at(target: Target, at: Region) -> ast.expr | None:
    """The expression that is a region, else the largest one that begins there."""
    lines = target.source.splitlines()
    if at.end_row > len(lines):
        return None
    column = len(lines[at.row - 1][: at.column - 1].encode())
    end = len(lines[at.end_row - 1][: at.end_column - 1].encode())
    found = [
        node
        for node in ast.walk(target.tree)
        if isinstance(node, ast.expr)
        and (node.lineno, node.col_offset, node.end_lineno) == (at.row, column, at.end_row)
    ]
    exact = [node for node in found if node.end_col_offset == end]
    return max(exact or found, key=lambda node: node.end_col_offset or 0, default=None)


def _reads_only(node: ast.AST, namespace: dict[str, Any]) -> bool:
    return not _missing(node, namespace)


def _missing(node: ast.AST, namespace: dict[str, Any]) -> list[str]:
    """The names that `node` reads and that are not there."""
    read = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    return [name for name in dict.fromkeys(read) if name not in namespace and not hasattr(builtins, name)]


def _expression(node: ast.expr) -> ast.Expression:
    return ast.fix_missing_locations(ast.Expression(node))
