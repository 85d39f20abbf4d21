"""What a loaded file holds, as far as the code around the load tells: data of the CPU needs no ``map_location``."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from operator import itemgetter

from torchdevlint.flow.checks.loads.loaded_options import stands_for_options
from torchdevlint.flow.checks.loads.loaded_uses import is_read_by_host
from torchdevlint.flow.checks.loads.packed_files import is_packed
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, is_dtype, mentions_cuda, mentions_device, places_in, public_path
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import DATASET_FILE, Ref
from torchdevlint.source.nodes import assignments_in, inside, is_inside, keyword_of, nodes_in, once_a_node

_DATA_CLASSES = ("Dataset", "Tokenizer", "Vocab", "Vocabulary", "Corpus", "Lexicon")
_STATE_OF_NUMBERS = ("sched", "sampler", "dataloader", "scaler")
_OF_WEIGHTS = frozenset("load state_dict parameters named_parameters modules".split())
_OF_MODELS = frozenset(
    "load_state_dict state_dict parameters train eval cuda to zero_grad step backward register_buffer".split()
)
_READERS = frozenset("json numpy pickle yaml".split())
"""Modules whose `load` gives no tensors of an accelerator, or reads what the same program keeps twice."""
_TAKES_CPU_DATA = frozenset("set_rng_state set_rng_state_all setstate set_state set_sampler".split())
_TAKES_STATE_OR_DATA = _TAKES_CPU_DATA | {"load_state_dict"}


def holds_data(frame: Frame, load: ast.Call, arguments: Arguments) -> bool:
    """Whether nothing in the file can be on an accelerator."""
    value = arguments.positional[0][1] if arguments.positional else None
    if value == DATASET_FILE or (load.args and is_packed(frame, load.args[0])):
        return True
    if _is_data_class(frame) or _goes_to_numbers(frame, load):
        return True
    return _is_written_beside(frame, load) or is_read_by_host(frame, load) or stands_for_options(frame, load)


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
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TAKES_STATE_OR_DATA:
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
    for node in assignments_in(scope):
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
    path, paths_held = _path_text(frame, scope, load.args[0]), _paths_of(scope, load)
    for save in _saves(frame, scope):
        saved, to = (_argument(save, position, name) for position, name in ((0, "obj"), (1, "f")))
        if saved is None or to is None or not _is_built(scope, saved, load, paths_held):
            continue
        if dotted_path(saved) in paths_held or _path_text(frame, scope, to) == path:
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


def _is_built(scope: ast.AST, saved: ast.expr, load: ast.Call, loaded: set[str]) -> bool:
    """Whether the function makes what it saves: no weights, nothing that it moves, and not what it has loaded."""
    path = dotted_path(saved)
    if path is None:
        held = {dotted_path(each) for each in inside(saved)} & loaded
        return not held and not may_be_elsewhere(scope, saved)
    values = [each for each in values_by_path(scope).get(path, ()) if not is_inside(load, each)]
    built = [each for each in values if path not in {dotted_path(part) for part in inside(each)}]
    return bool(built) and path not in _weighty(scope) and not any(may_be_elsewhere(scope, each) for each in values)


def may_be_elsewhere(scope: ast.AST, value: ast.expr) -> bool:
    """Whether weights, or something that is moved to a device, are among what a value is made of."""
    parts = list(inside(value))
    called = [each.func for each in parts if isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute)]
    weights = (each for each in called if each.attr in _OF_WEIGHTS and public_path(each.value) not in _READERS)
    if any(weights) or any(_moves(each) for each in parts):
        return True
    return not {dotted_path(each) for each in parts}.isdisjoint(_weighty(scope))


def _moves(node: ast.AST) -> bool:
    """``x.cuda()``, ``x.to(device)``, ``zeros(3, device=device)``; what goes to the CPU is no such move."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    places = places_in(node)
    named = [str(each.value) if isinstance(each, ast.Constant) else dotted_path(each) or "" for each in places]
    return name == "cuda" or any(each != "cpu" and (mentions_device(each) or mentions_cuda(each)) for each in named)


@once_a_node
def _weighty(scope: ast.AST) -> frozenset[str]:
    """The paths that are used as models and optimizers are; what only gets another dtype is not."""
    calls = (each for each in nodes_in(scope, ast.Call) if not any(map(_is_dtype, places_in(each))))
    methods = (each.func for each in calls if isinstance(each.func, ast.Attribute))
    return frozenset(path for each in methods if each.attr in _OF_MODELS and (path := dotted_path(each.value)))


def _is_dtype(place: ast.expr) -> bool:
    """Whether a place is none but a dtype: ``x.to(torch.float32)``."""
    return is_dtype(place)


def _argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if position < len(call.args):
        return call.args[position]
    return keyword_of(call, name)


def _paths_of(scope: ast.AST, load: ast.Call) -> set[str]:
    """The names and attributes that hold what the load gave."""
    return {path for path, values in values_by_path(scope).items() if load in values}


def _path_text(frame: Frame, scope: ast.AST, file: ast.expr) -> str:
    """A path as it is written; of a file that ``with open(path) as file`` opens around it, the path of that."""
    if isinstance(file, ast.Name):
        for block in nodes_in(scope, ast.With):
            if not block.lineno <= file.lineno <= (block.end_lineno or block.lineno):
                continue
            for item in block.items:
                opened = item.context_expr
                named = isinstance(item.optional_vars, ast.Name) and item.optional_vars.id == file.id
                if named and isinstance(opened, ast.Call) and dotted_path(opened.func) == "open" and opened.args:
                    return frame.machine.text_of(opened.args[0])
    return frame.machine.text_of(file)


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
        for node in assignments_in(scope)
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
