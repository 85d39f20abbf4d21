"""Where the processes of a group meet: if only those of one machine can, their ranks are the numbers of its GPUs."""

from __future__ import annotations

import ast

from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.source.nodes import assignments_in, inside, nodes_in, once_a_node

_OF_A_GROUP = frozenset({"init_process_group", "MASTER_ADDR", "spawn", "start_processes"})
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Addresses that mean, on each machine, that machine itself."""
_LAUNCHERS = ("torchrun", "torch.distributed.launch", "torch.distributed.run")
LAUNCHING = ("torchrun", "distributed")
"""One of these words is said where a program is launched."""
_ONE_MACHINE = regex(r"--nnodes?[= ]1(?![\d:])")


def is_launched_alone(text: str, program: str, by_number: bool = False) -> bool:
    """Whether each command of a script that launches a program says that it is for the processes of one machine.

    It does so by ``--standalone``; ``--nnodes=1`` may be what users change, unless it counts as well (`by_number`).
    """
    lines = (each for each in text.replace("\\\n", " ").split("\n") if program in each)
    commands = [each for each in lines if any(launcher in each for launcher in _LAUNCHERS)]
    return bool(commands) and all(
        "--standalone" in each or (by_number and _ONE_MACHINE.search(each) is not None) for each in commands
    )


@once_a_node
def counts_machines(tree: ast.Module) -> bool:
    """Whether a program makes the number of a GPU from a rank among several machines: ``rank % device_count()``."""
    divided = (each.right for each in nodes_in(tree, ast.BinOp) if isinstance(each.op, ast.Mod))
    return any(isinstance(each, ast.Call) and last_name(each.func) == "device_count" for each in divided)


@once_a_node
def starts_a_group(tree: ast.Module) -> bool:
    """Whether a program speaks of the group that its processes form, or of where they meet."""
    words = {last_name(each.func) for each in nodes_in(tree, ast.Call)}
    words |= {each.value for each in nodes_in(tree, ast.Constant) if isinstance(each.value, str)}
    return not words.isdisjoint(_OF_A_GROUP)


@once_a_node
def meets_on_this_machine(tree: ast.Module) -> bool:
    """Whether the processes meet at an address that only those of this machine reach, whatever a launcher says."""
    tested = [each for each in nodes_in(tree, ast.If) if "environ" in ast.dump(each.test)]
    left_out = {id(each) for test in tested for part in (*test.body, *test.orelse) for each in inside(part)}
    for each in assignments_in(tree):
        target, value = each.targets[0], each.value
        if not isinstance(target, ast.Subscript) or not isinstance(value, ast.Constant) or id(each.node) in left_out:
            continue
        named = isinstance(target.slice, ast.Constant) and target.slice.value == "MASTER_ADDR"
        if named and public_path(target.value) == "os.environ" and value.value in _THIS_MACHINE:
            return True
    return any(_is_local_url(each.value) for each in nodes_in(tree, ast.keyword) if each.arg == "init_method")


def _is_local_url(node: ast.expr) -> bool:
    """``"tcp://localhost:29500"``, or an f-string that begins so."""
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    text = first.value if isinstance(first, ast.Constant) else None
    return isinstance(text, str) and text.startswith(tuple(f"tcp://{host}:" for host in _THIS_MACHINE))
