"""What a loaded file holds, as far as the code around the load tells: data of the CPU needs no ``map_location``."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from operator import itemgetter

from torchdevlint.flow.calling.arguments import Arguments
from torchdevlint.flow.names import dotted_path
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Library, Ref
from torchdevlint.source.nodes import inside, nodes_in, once_a_node

DATASET_FILE = "a file of a dataset repository"
_DATA_CLASSES = ("Dataset", "Tokenizer", "Vocab", "Vocabulary", "Corpus", "Lexicon")
_STATE_OF_NUMBERS = ("sched", "sampler", "dataloader", "scaler")
_TAKES_CPU_DATA = frozenset("set_rng_state set_rng_state_all setstate set_state set_sampler".split())


def holds_data(frame: Frame, load: ast.Call, arguments: Arguments) -> bool:
    """Whether nothing in the file can be on an accelerator."""
    value = arguments.positional[0][1] if arguments.positional else None
    if value == Library(DATASET_FILE):
        return True
    return _is_data_class(frame) or _goes_to_numbers(frame, load) or _is_written_beside(frame, load)


def _is_data_class(frame: Frame) -> bool:
    """In a dataset or tokenizer, which reads files that its own preprocessing wrote."""
    owner = frame.owner
    if owner is None or owner.is_module:
        return False
    names = [info.name for info in owner.mro] + list(owner.library_bases)
    return any(name.endswith(_DATA_CLASSES) for name in names)


def _goes_to_numbers(frame: Frame, load: ast.Call) -> bool:
    """What is loaded is given to a scheduler, sampler or scaler, whose state is numbers, or to a random generator."""
    scope = frame.function or frame.machine.tree
    names = _names_of(scope, load)
    until = _rebound(scope, names, load)
    to_random = False
    keys: list[ast.expr | str] = [load, *names]
    for _, node, function in sorted({each for key in keys for each in _taking(scope).get(key, ())}, key=itemgetter(0)):
        if not load.lineno <= (node.end_lineno or node.lineno) < until:
            continue
        receiver = (dotted_path(function.value) or "").rpartition(".")[2].lower()
        whole = any(_is_loaded(argument, load, names) for argument in node.args)
        part = any(isinstance(each, ast.Subscript) and _is_loaded(each.value, load, names) for each in node.args)
        if function.attr == "load_state_dict":
            if whole and any(word in receiver for word in _STATE_OF_NUMBERS):
                return True
            if whole or part:
                return False
        elif (whole or part) and function.attr in _TAKES_CPU_DATA:
            to_random = to_random or function.attr != "set_state" or receiver == "random"
    return to_random


@once_a_node
def _taking(scope: ast.AST) -> dict[ast.expr | str, list[tuple[int, ast.Call, ast.Attribute]]]:
    """The calls that take what may have been loaded, by the arguments and their names: their order, and who is called.

    A file may hold a thousand loads, each of which asks for the calls that concern it.
    """
    found: dict[ast.expr | str, list[tuple[int, ast.Call, ast.Attribute]]] = {}
    for place, node in enumerate(nodes_in(scope, ast.Call)):
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"load_state_dict", *_TAKES_CPU_DATA}:
            for argument in node.args:
                given = argument.value if isinstance(argument, ast.Subscript) else argument
                key = given.id if isinstance(given, ast.Name) else given
                found.setdefault(key, []).append((place, node, node.func))
    return found


@once_a_node
def _bindings(scope: ast.AST) -> tuple[dict[ast.expr, set[str]], dict[str, list[int]]]:
    """The names that each value is assigned to, and the lines on which each name is assigned to."""
    names: dict[ast.expr, set[str]] = {}
    lines: dict[str, list[int]] = {}
    for node in nodes_in(scope, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                names.setdefault(node.value, set()).add(target.id)
                lines.setdefault(target.id, []).append(node.lineno)
    return names, lines


def _names_of(scope: ast.AST, load: ast.Call) -> set[str]:
    """The names that hold what the load gave."""
    return _bindings(scope)[0].get(load, set())


def _rebound(scope: ast.AST, names: set[str], load: ast.Call) -> float:
    """The line on which a name that holds what was loaded is bound again."""
    lines, end = _bindings(scope)[1], load.end_lineno or load.lineno
    return min((line for name in names for line in lines[name] if line > end), default=math.inf)


def _is_loaded(node: ast.expr, load: ast.Call, names: set[str]) -> bool:
    return node is load or (isinstance(node, ast.Name) and node.id in names)


def _is_written_beside(frame: Frame, load: ast.Call) -> bool:
    """The same function builds and writes what it loads if it is there, or a method of the same class writes data."""
    scope = frame.function
    if scope is None or not load.args:
        return False
    path, names = frame.machine.text_of(load.args[0]), _names_of(scope, load)
    for save in _saves(frame, scope):
        if len(save.args) < 2 or not _is_built(scope, save.args[0]):
            continue
        same_name = isinstance(save.args[0], ast.Name) and save.args[0].id in names
        if same_name or frame.machine.text_of(save.args[1]) == path:
            return True
    owner = frame.owner
    if owner is None or owner.is_module:
        return False
    saves = [
        (save, method) for method in owner.methods.values() if method is not scope for save in _saves(frame, method)
    ]
    if _is_buffer(load.args[0]) and any(
        any(_is_buffer(value) for value in _assigned(method, save.args[1].id))
        for save, method in saves
        if len(save.args) > 1 and isinstance(save.args[1], ast.Name)
    ):
        return True
    return bool(saves) and all(_is_plain_data(save.args[0], method) for save, method in saves if save.args)


def _is_buffer(node: ast.expr) -> bool:
    """``io.BytesIO(..)``: bytes in memory, which the same class packs and unpacks."""
    return isinstance(node, ast.Call) and (dotted_path(node.func) or "").endswith("BytesIO")


def _is_built(scope: ast.AST, saved: ast.expr) -> bool:
    """Whether what is saved is the result of a call other than a load, and no state dict."""
    if isinstance(saved, ast.Tuple):
        return True
    if not isinstance(saved, ast.Name):
        return False
    return any(
        isinstance(value, ast.Call)
        and (dotted_path(value.func) or "").rpartition(".")[2] not in ("load", "state_dict")
        and not any(isinstance(each, ast.Name) and each.id == saved.id for each in inside(value))
        for value in _assigned(scope, saved.id)
    )


def _is_plain_data(saved: ast.expr, method: ast.AST) -> bool:
    """Whether what is saved is a dict of attributes and literals, none of which is called for."""
    if isinstance(saved, ast.Name):
        values = _assigned(method, saved.id)
        return bool(values) and all(
            _is_plain_data(value, method) for value in values if not isinstance(value, ast.Name)
        )
    if not isinstance(saved, ast.Dict):
        return False
    return all(isinstance(value, (ast.Constant, ast.Attribute, ast.Name)) for value in saved.values)


def _assigned(scope: ast.AST, name: str) -> list[ast.expr]:
    return [
        node.value
        for node in nodes_in(scope, ast.Assign)
        if any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]


def _saves(frame: Frame, scope: ast.AST) -> Iterator[ast.Call]:
    """The calls of `torch.save` in a function."""
    for node in _calls_of_save(scope):
        if frame.evaluate(node.func, State({})) == Ref("torch.save"):
            yield node


@once_a_node
def _calls_of_save(scope: ast.AST) -> list[ast.Call]:
    return [node for node in nodes_in(scope, ast.Call) if (dotted_path(node.func) or "").endswith("save")]
