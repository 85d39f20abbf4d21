"""Programs: what a file runs by itself, of which all callers are seen, and whether it has to do with accelerators.

A function of a library is called by others, who may have moved what they give it. A function that only the program of
its own file calls gets what that program makes; where nothing speaks of an accelerator, that is on the CPU.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.annotations import named_in
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.names import dotted_path, first_name, last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.locate import is_elsewhere
from torchdevlint.project.modules import bound_by, is_main_guard
from torchdevlint.source.functions import FunctionNode, functions_in
from torchdevlint.source.nodes import arguments_of, inside, nodes_in, once_a_node

_TYPES = (
    r"cuda|gpu|(?<![a-z])tpu|accelerator|\b(?:from|import)\s+accelerate\b|rocm|\b(?:mps|xpu|npu|hpu|xla)\b"
    r"|lightning|deepspeed|fastai|(?-i:Trainer\b|Learner\b)"
)
"""Accelerators by name, and libraries that place models and data themselves."""
_CONVERSION = r"dtype|torch\.(?:u?int|float|double|half|bfloat|long|short|bool|complex)"
_ASKED = regex(
    r"\.to\(\s*(?:device\s*=\s*)?(?:torch\.device\(\s*)?['\"]cpu['\"]\s*\)?\s*\)"
    r"|torch\.(?:cuda|mps|xpu)\.(?:is_available|device_count|get_device_name|manual_seed\w*|seed\w*)\b"
    r"|torch\.version\.cuda|torch\.backends\.\w+|\w*(?:cuda|gpu)\w*_(?:available|name|version|count)\b",
    re.IGNORECASE,
)
"""Moves to the CPU, questions, and seeds for all devices: they place nothing on an accelerator."""
_NAMED = regex(_TYPES, re.IGNORECASE)
_MENTIONED = regex(rf"{_TYPES}|device|\.to\((?![^()]*(?:{_CONVERSION}))", re.IGNORECASE)
_COMMENT = regex(r"""('{3}.*?'{3}|"{3}.*?"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|#[^\n]*""", re.DOTALL)
"""A text, which may hold what begins a comment, or a comment."""
_FOR_PEOPLE = frozenset({"print", "input", "display", "show", "savefig", "parse_args", "spawn", "agent"})
"""What programs call, and modules that are imported do not."""
_TRAINING = frozenset({"backward", "step", "zero_grad", "load_state_dict", "fit", "train", "eval", "start"})
"""Methods that a program calls of what it has made."""
_OF_PEOPLE = frozenset({"parse_args", "backward", "zero_grad"})
"""What nobody calls to try something."""
_COUNTING = frozenset({"enumerate", "float", "int", "len", "list", "print", "range", "sum", "tuple", "zip"})
"""Built-in functions that look nothing up, and run nothing that they are given."""
_LONGEST_TRIAL = 40
"""How many statements try something at most."""
_TRIAL = regex(r"test|demo|example|check", re.IGNORECASE)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def mentions_accelerators(text: str) -> bool:
    """Whether the text of a file has to do with accelerators, be it by a device from outside or in a comment."""
    return _MENTIONED.search(_ASKED.sub("", text)) is not None


def names_accelerators(text: str) -> bool:
    """Whether a text says accelerators by name: what it does with a device that it is given is its caller's choice."""
    return _NAMED.search(_ASKED.sub("", text)) is not None


def without_comments(text: str) -> str:
    """The code of a text: what was put into a comment is not run (``net = Net()  # .cuda()``)."""
    return _COMMENT.sub(lambda found: found[1] or "", text)


@once_a_node
def is_program(tree: ast.Module) -> bool:
    """Whether this file does by itself what a program does; a trial of what is meant for others is none."""
    outside = [each for each in tree.body if not is_main_guard(each)]
    is_started = bool(_started_in(tree)) or any(map(_is_run_when_started, outside))
    return is_started or _runs(outside, _by_name(tree))


@once_a_node
def functions_of_program(tree: ast.Module) -> frozenset[ast.AST]:
    """The functions that the program of this file calls, by whatever name they are read, and those inside of them.

    A trial under ``if __name__ == "__main__"`` is none: it calls what is meant for others.
    """
    known = _by_name(tree)
    guards = [each for each in tree.body if is_main_guard(each)]
    local = {each for guard in guards for each in inside(guard) if isinstance(each, _FUNCTIONS)}
    level = set(_read_in(_started_in(tree), known))
    outside = [each for each in tree.body if not is_main_guard(each)]
    level.update(each for each in outside if _is_run_when_started(each))
    if _runs(outside, known):
        level.update(_read_in([each for each in outside if not isinstance(each, _DEFINITIONS)], known))
    return _reached(level, known) | local


def leading_to(tree: ast.Module, names: frozenset[str], of_objects: bool = False) -> tuple[frozenset[str], bool]:
    """The names of the top level through which a file comes to those `names`, and whether its own program does.

    They are names of modules, so that ``net.save()`` does not come to a function `save`, but ``utils.save()`` does
    where `utils` is imported; unless they may be those of methods (`of_objects`).
    """
    read = _read_by if of_objects else read_of_modules(tree).__getitem__
    found, before = set(names), -1
    while len(found) > before:
        before = len(found)
        for statement in tree.body:
            if not is_main_guard(statement) and not found.isdisjoint(read(statement)):
                found.update(_bound_through(statement, found))
    outside = [each for each in tree.body if not is_main_guard(each)]
    running = list(_started_in(tree))
    if _runs(outside, _by_name(tree)):
        running += [each for each in outside if not isinstance(each, (*_DEFINITIONS, ast.Import, ast.ImportFrom))]
    started = [each for each in outside if _is_run_when_started(each)]
    runs = any(not found.isdisjoint(read(each)) for each in (*running, *started))
    return frozenset(found), runs or any(not found.isdisjoint(bound_by(each)) for each in started)


def _is_run_when_started(statement: ast.stmt) -> bool:
    """Whether a function is decorated by ``experiment.automain`` of sacred: it is run where a main guard would be."""
    decorators = statement.decorator_list if isinstance(statement, ast.FunctionDef) else []
    return any(isinstance(each, ast.Attribute) and each.attr == "automain" for each in decorators)


def _bound_through(statement: ast.stmt, names: set[str]) -> list[str]:
    """What a statement of the top level binds by reading one of some names; an import binds each name by itself."""
    if isinstance(statement, ast.ImportFrom):
        return [each.asname or each.name for each in statement.names if each.name in names]
    return list(bound_by(statement))


def functions_apart_from(tree: ast.Module, name: str) -> frozenset[ast.AST]:
    """The functions from which nothing leads to what goes by `name`, as far as the names that they read tell."""
    functions = functions_in(tree)
    names, _ = leading_to(tree, frozenset({name}), of_objects=True)
    names |= {attribute for each in functions if each.name == "__init__" for attribute in _kept_in(each, names)}
    apart = {each for each in functions if each.name != "__init__"}
    while leading := {each for each in apart if not names.isdisjoint(_read_by(each))}:
        apart -= leading
        names |= {each.name for each in leading}
    return frozenset(apart)


def _kept_in(init: FunctionNode, names: frozenset[str]) -> Iterator[str]:
    """The attributes under which an object keeps what its ``__init__`` is given as an object of a class of `names`."""
    annotated = ((each.arg, named_in(each.annotation)) for each in nodes_in(init, ast.arg) if each.annotation)
    given = {name for name, said in annotated if not names.isdisjoint(map(last_name, said))}
    for path, values in values_by_path(init).items() if given else ():
        if path.startswith("self.") and any(isinstance(each, ast.Name) and each.id in given for each in values):
            yield path.removeprefix("self.")


@once_a_node
def _read_by(statement: ast.stmt) -> frozenset[str]:
    """The names and attributes that are read in a statement, and what it imports from other files."""
    return _names_in(statement).union(each.attr for each in nodes_in(statement, ast.Attribute))


def _names_in(statement: ast.stmt) -> frozenset[str]:
    names = {each.id for each in nodes_in(statement, ast.Name) if isinstance(each.ctx, ast.Load)}
    return frozenset(names.union(each.name for each in nodes_in(statement, ast.alias)))


@once_a_node
def read_of_modules(tree: ast.Module) -> dict[ast.stmt, frozenset[str]]:
    """What each statement of the top level reads, but for the attributes of what is surely no module of a project."""
    asked = [(each, each.name) for node in nodes_in(tree, ast.Import) for each in node.names]
    asked += [(each, node.module or "") for node in nodes_in(tree, ast.ImportFrom) for each in node.names]
    imported = {each.asname or each.name.partition(".")[0] for each, module in asked if not is_elsewhere(module)}
    if "*" in imported:
        return {each: _read_by(each) for each in tree.body}
    found = {}
    for statement in tree.body:
        attributes = nodes_in(statement, ast.Attribute)
        of_modules = (each.attr for each in attributes if first_name(dotted_path(each) or "") in imported)
        found[statement] = _names_in(statement).union(of_modules)
    return found


@once_a_node
def _started_in(tree: ast.Module) -> list[ast.stmt]:
    """What a file does where it is started, if that is no trial; a file that parses its options before is no trial."""
    guards = [each for each in tree.body if is_main_guard(each)]
    outside = (each for each in tree.body if isinstance(each, (ast.Assign, ast.AnnAssign, ast.Expr)))
    parses = any(last_name(call.func) == "parse_args" for each in outside for call in nodes_in(each, ast.Call))
    return [each for each in guards if parses or not (_is_trial(tree, each) or tries_torch_alone(tree, each))]


def tries_torch_alone(tree: ast.Module, guard: ast.stmt) -> bool:
    """Whether a file that defines something tries none of it when it is started, but something of torch on the CPU."""
    if not any(isinstance(each, _DEFINITIONS) for each in tree.body):
        return False
    names = [each for each in nodes_in(guard, ast.Name) if each.id != "__name__"]
    made = {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    called = {id(each.func) for each in nodes_in(guard, ast.Call)}
    return not mentions_accelerators(ast.unparse(guard)) and all(
        each.id in made
        or public_path(each).partition(".")[0] == "torch"
        or (id(each) in called and each.id in _COUNTING and public_path(each) == each.id)
        for each in names
    )


def _is_trial(tree: ast.Module, guard: ast.stmt) -> bool:
    """Whether a script makes tensors where it starts, or calls a test: it only tries what is meant for others.

    What takes options, be it in a function of the file that it calls, trains, or is long, is started by people,
    whatever it calls.
    """
    if sum(isinstance(each, ast.stmt) for each in inside(guard)) > _LONGEST_TRIAL:
        return False
    calls = nodes_in(guard, ast.Call)
    called = {last_name(call.func) for call in calls if dotted_path(call.func) not in _COUNTING}
    if not called.isdisjoint(_OF_PEOPLE) or any(_takes_options(tree, each) for each in called):
        return False
    return not called.isdisjoint(torch_api.FACTORIES) or any(map(_TRIAL.search, called))


def _takes_options(tree: ast.Module, name: str) -> bool:
    """Whether a function of the top level reads the command line."""
    functions = (each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name)
    return any(last_name(call.func) == "parse_args" for each in functions for call in nodes_in(each, ast.Call))


def _reached(level: set[ast.AST], known: dict[str, list[ast.AST]]) -> frozenset[ast.AST]:
    found: set[ast.AST] = set()
    while level:
        found |= level
        level = set(_read_in(level, known)) - found
    return frozenset(found)


def _by_name(tree: ast.Module) -> dict[str, list[ast.AST]]:
    """The functions that a name may stand for; that of a class stands for its methods."""
    known: dict[str, list[ast.AST]] = {}
    functions = functions_in(tree)
    for node in functions:
        known.setdefault(node.name, []).append(node)
    for owner in nodes_in(tree, ast.ClassDef):
        known.setdefault(owner.name, []).extend(each for each in owner.body if isinstance(each, _FUNCTIONS))
    return known


def _read_in(places: Iterable[ast.AST], known: dict[str, list[ast.AST]]) -> Iterator[ast.AST]:
    """The functions whose names are read in some code, and those that are defined there."""
    for place in places:
        for node in inside(place):
            if isinstance(node, _FUNCTIONS) and node is not place:
                yield node
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name is not None:
                yield from known.get(name, ())


def _runs(statements: list[ast.stmt], known: dict[str, list[ast.AST]]) -> bool:
    """Whether the top level of a file does what a program does: it speaks to people, trains, or calls its functions.

    What is imported may speak and call its functions below a test, but it trains nothing.
    """
    if any(
        last_name(call.func) in _FOR_PEOPLE
        or _trains(call)
        or (isinstance(call.func, ast.Name) and call.func.id in known and not _registers(call, known))
        for call in _calls_of(statements)
    ):
        return True
    return any(_trains(call) for call in _calls_of(statements, tested=True))


def _trains(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _TRAINING


def _registers(call: ast.Call, known: dict[str, list[ast.AST]]) -> bool:
    """Whether a function or class of the file is given to a call: that only says what there is."""
    return any(dotted_path(each) in known for each in arguments_of(call))


def _calls_of(statements: list[ast.stmt], tested: bool = False) -> Iterator[ast.Call]:
    """The calls that are statements of the top level, on every path; with `tested`, those below a test as well."""
    for statement in statements:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield statement.value
        elif isinstance(statement, (ast.For, ast.While, ast.With)):
            yield from _calls_of(statement.body, tested)
        elif tested and isinstance(statement, ast.If):
            yield from _calls_of([*statement.body, *statement.orelse], tested)
