"""Checkpoints: loads without a place, and state dicts whose keys carry a wrapper's prefix."""

from __future__ import annotations

import ast

from torchdevlint.flow.checks.loads.brought_back import is_brought_back
from torchdevlint.flow.checks.loads.caches import is_cache
from torchdevlint.flow.checks.loads.loaded_data import holds_data
from torchdevlint.flow.checks.loads.named_data import is_called_data, is_called_vocabulary, is_moved
from torchdevlint.flow.checks.loads.packed_files import is_temporary
from torchdevlint.flow.checks.loads.prefixes import is_read_without_prefix, strips
from torchdevlint.flow.checks.loads.published_files import (
    is_exported_elsewhere,
    is_never_given,
    is_of_one_home,
    is_published,
)
from torchdevlint.flow.checks.loads.telling_names import plain_path
from torchdevlint.flow.checks.loads.wrap_order import is_wrapped_by_another_way
from torchdevlint.flow.checks.loads.writers import is_written_from_cpu, is_written_otherwise, name_of, own_file
from torchdevlint.flow.events import ForeignCalled, FunctionReturned, ModuleMethodCalled
from torchdevlint.flow.facts.checkpoints import CheckpointLoad, WrappedStateDict
from torchdevlint.flow.kinds.placed_loads import FROM_ADDRESSES, LOADS
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.assigned import values_by_path
from torchdevlint.flow.scope.cuda_programs import ends_without_cuda, is_of_cuda_program, numbers_gpus
from torchdevlint.flow.scope.each_rank import have_gpus_of_their_own, is_run_by_each_rank
from torchdevlint.flow.scope.fed_loads import feeds_one_module, only_fed
from torchdevlint.flow.scope.names import has_stars, last_name, parameter_names, positional_names, public_path
from torchdevlint.flow.scope.parts_of_run import is_of_another_part
from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.joins import alternatives
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import (
    UNKNOWN,
    Choice,
    Const,
    Library,
    Loaded,
    Map,
    StateDict,
    Value,
)
from torchdevlint.model import Span
from torchdevlint.source.nodes import nodes_in

_FILLS_ITSELF = "def load_state_dict("
"""How a class begins to say itself what becomes of a state dict."""


class _Memory:
    """What one file loads and saves."""

    def __init__(self) -> None:
        self.hands_on: dict[ast.AST, str] = {}
        """The parameters that functions hand on to a load, and that say where to unless they are None."""
        self.saved: dict[str, tuple[StateDict, list[ast.AST | None]]] = {}
        """The state dicts that are saved without a prefix, by the text of the path, and what wraps them otherwise."""
        self.saved_in: dict[tuple[int, str], list[ast.Call]] = {}
        """What saves to a path, by the activation of the function that does so and the path as it is told."""
        self.read_anyway: dict[tuple[ast.Call, Value], bool] = {}
        """Whether the file of a load, with that path, can be read wherever the code can be run."""


def _note_load(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """A call that reads storages; silent when its result cannot be on an accelerator that is not there (TDL201)."""
    path_node = arguments.positional[0][0] if arguments.positional else None
    if state.guarded or state.without_accelerator or (path_node is not None and is_temporary(frame, path_node)):
        return
    place = arguments.get(torch_api.LOADERS[name], "map_location")
    if _placed(frame, name, arguments):
        _note_handed_on(frame, place)
    elif not (_is_saved_before(frame, node, arguments) or _is_read_anyway(frame, node, arguments)):
        _record_load(frame, node, name, arguments, "map_location", place)


def _is_saved_before(frame: Frame, node: ast.Call, arguments: Arguments) -> bool:
    """Whether the function that is run saved to a path so far, in what each run that comes to the load does."""
    told = _told(frame, *arguments.positional[0]) if arguments.positional else ""
    saves, scope = frame.machine.memory(_Memory).saved_in, frame.function or frame.machine.tree
    return any(
        scope is None or not is_of_another_part(scope, each, node) for each in saves.get((frame.activation, told), ())
    )


def _told(frame: Frame, path: ast.expr, value: Value) -> str:
    """What a path is, if that is written down, and else its text."""
    text = value.value if isinstance(value, Const) else None
    return f"{plain_path(text)!r}" if isinstance(text, str) else frame.machine.text_of(path)


def _is_for_cuda(frame: Frame, node: ast.Call) -> bool:
    """Whether what reads the file is for CUDA alone, and for the GPU that is the first one visible."""
    others = frame.machine.others
    notebook = others is not None and others.home.endswith(".ipynb")
    tree, function = frame.machine.tree, frame.function
    if numbers_gpus(tree):
        return False
    return is_of_cuda_program(tree, function, notebook) or (not notebook and ends_without_cuda(tree, function, node))


def _is_read_anyway(frame: Frame, node: ast.Call, arguments: Arguments) -> bool:
    """Whether the file can be read wherever the code can be run: it holds data of the CPU, or the code is for CUDA."""
    known = frame.machine.memory(_Memory).read_anyway
    key = node, arguments.positional[0][1] if arguments.positional else UNKNOWN
    if key not in known:
        known[key] = _can_be_read(frame, node, arguments)
    return known[key]


def _can_be_read(frame: Frame, node: ast.Call, arguments: Arguments) -> bool:
    if holds_data(frame, node, arguments) or _is_for_cuda(frame, node):
        return True
    scope, owner = frame.function or frame.machine.tree, None if frame.owner is None else frame.owner.node
    if is_never_given(frame, node) or is_cache(frame.machine.tree, scope, node):
        return True
    if is_called_vocabulary(scope, owner, node):
        return True
    return bool(arguments.positional) and is_written_from_cpu(frame, node, arguments.positional[0][1])


def _record_load(
    frame: Frame,
    node: ast.Call,
    name: str,
    arguments: Arguments,
    parameter: str,
    given: tuple[ast.expr, Value] | None = None,
    only_place: bool = True,
) -> None:
    machine = frame.machine
    path = arguments.positional[0][1] if arguments.positional else UNKNOWN
    machine.record_anyway(
        ("load", node),
        lambda: CheckpointLoad(
            machine.span_of(node),
            name,
            machine.text_of(node),
            _is_copied(machine, node),
            have_gpus_of_their_own(machine.words) and is_run_by_each_rank(machine.tree, node),
            parameter,
            None if given is None else machine.span_of(given[0]),
            only_place,
            _is_of_others(frame, node, name, path),
            frame.scope,
            _is_of_data(frame, node, path),
            machine.others is not None and is_brought_back(own_file(frame), machine.others.project, node),
            feeds_one_module(machine.tree, node),
        ),
    )


def _is_of_others(frame: Frame, node: ast.Call, name: str, path: Value) -> bool:
    """Whether what is loaded was published, or lies where nobody else can read it."""
    is_fetched = name.rpartition(".")[2] in FROM_ADDRESSES or is_exported_elsewhere(frame, name)
    return is_fetched or is_of_one_home(frame.machine.tree, node, path) or is_published(frame, node, path)


def _is_of_data(frame: Frame, node: ast.Call, path: Value) -> bool:
    """Whether a load gives what its code calls data, and the project does not write it out of what it moves."""
    name = name_of(frame.machine.tree, node, path)
    owner = None if frame.owner is None else frame.owner.node
    if not is_called_data(frame.function or frame.machine.tree, owner, node, name):
        return False
    return name is None or not is_written_otherwise(frame, name, is_moved)


def _is_copied(machine: Machine, node: ast.Call) -> bool:
    """Whether what is loaded only goes into parameters, by a `load_state_dict` that keeps none of the tensors.

    One that a file which is imported here defines may be asked, and may keep them.
    """
    if node not in only_fed(machine.tree):
        return False
    project = machine.others.project if machine.others is not None else None
    imported = (project.text_of(path) for path in project.imported(project.path)) if project is not None else ()
    return not any(each is not None and _FILLS_ITSELF in each.text for each in imported)


def _note_return(event: FunctionReturned) -> None:
    """After a function that hands the place of a load on was run: a caller who does not say it has left it open."""
    frame, state, node, function, arguments = event.frame, event.state, event.node, event.function, event.arguments
    parameter = frame.machine.memory(_Memory).hands_on.get(function.node)
    if parameter is None or has_stars(node):
        return
    names = positional_names(function.node)[function.receiver is not None :]
    place = names.index(parameter) if parameter in names else len(arguments.positional)
    given = arguments.get(place, parameter)
    if given is not None:
        _note_handed_on(frame, given)
    elif not (state.guarded or state.without_accelerator or _is_read_anyway(frame, node, arguments)):
        handed_on = _is_only_handed_on(function.node, parameter)
        _record_load(frame, node, function.qualname, arguments, parameter, None, handed_on)


def _is_only_handed_on(function: ast.AST, parameter: str) -> bool:
    """Whether every place that reads a parameter gives it as the argument for the place of a load."""
    calls = nodes_in(function, ast.Call)
    given = [each.value for call in calls for each in call.keywords if each.arg in ("map_location", parameter)]
    given += [each for call in calls if public_path(call.func).endswith(LOADS) for each in call.args[1:]]
    return all(each in given for each in nodes_in(function, ast.Name) if each.id == parameter)


def _note_handed_on(frame: Frame, given: tuple[ast.expr, Value] | None) -> None:
    if given is None or frame.function is None or not isinstance(given[0], ast.Name) or given[1] != Const(None):
        return
    if _is_parameter(frame, given[0]):
        frame.machine.memory(_Memory).hands_on[frame.function] = given[0].id


def _placed(frame: Frame, name: str, arguments: Arguments) -> bool:
    """Whether it is said where to; who hands a parameter through leaves that to the caller, who may say None."""
    if arguments.double_starred or arguments.starred or not (arguments.positional or arguments.keywords):
        return True
    given = arguments.get(torch_api.LOADERS[name], "map_location")
    if given is None or given[1] != Const(None) or _is_chosen(given[0]) or _is_set_later(frame, given[0]):
        return given is not None
    return _is_parameter(frame, given[0])


def _is_chosen(node: ast.expr) -> bool:
    """``None if use_gpu else "cpu"``: where the place is left open, it was decided that it may be."""
    arms = (node.body, node.orelse) if isinstance(node, ast.IfExp) else ()
    return any(not (isinstance(each, ast.Constant) and each.value is None) for each in arms)


def _is_set_later(frame: Frame, node: ast.expr) -> bool:
    """Whether it is an attribute that is None until a method, or another function of the file, writes a place there."""
    written = values_by_path(frame.machine.tree) if isinstance(node, ast.Attribute) else {}
    values = (each for path, held in written.items() if path.endswith(f".{last_name(node)}") for each in held)
    return any(not (isinstance(each, ast.Constant) and each.value is None) for each in values)


def _is_parameter(frame: Frame, node: ast.expr) -> bool:
    function = frame.function
    return function is not None and isinstance(node, ast.Name) and node.id in parameter_names(function)


def _note_save(frame: Frame, state: State, node: ast.Call, name: str, arguments: Arguments, given: Value) -> None:
    """``torch.save(obj, path)`` where `obj` holds state dicts."""
    memory = frame.machine.memory(_Memory)
    path = frame.machine.text_of(arguments.positional[1][0]) if len(arguments.positional) > 1 else ""
    if path:
        memory.saved_in.setdefault((frame.activation, _told(frame, *arguments.positional[1])), []).append(node)
    found = _state_dicts(arguments.value(0, "obj"), False)
    for held, conditional in found:
        if held.prefix:
            _record_save(frame, node, held, conditional)
        elif path:
            memory.saved[path] = held, [each.made_at for each, _ in found if each.prefix]


def _note_helper(event: ForeignCalled) -> None:
    """``save_checkpoint({"state": model.state_dict()}, path)``, of a file that is not seen, saves what it is given."""
    if event.name.rpartition(".")[2].lower().lstrip("_").startswith("save"):
        for _, given in event.arguments.pairs:
            for held, conditional in _state_dicts(given, False):
                if held.prefix:
                    _record_save(event.frame, event.node, held, conditional)


def _state_dicts(value: Value, conditional: bool) -> list[tuple[StateDict, bool]]:
    """The state dicts in what is saved, and whether each is there on some paths only.

    Where all paths wrap the model, in whatever wrappers of one prefix, it is on the keys in any case.
    """
    if isinstance(value, StateDict):
        return [(value, conditional)]
    if isinstance(value, Map):
        return [found for _, each in value.items for found in _state_dicts(each, conditional)]
    if isinstance(value, Choice):
        held = [each for _, each in alternatives(value)]
        alike = len({each.prefix if isinstance(each, StateDict) else None for each in held}) == 1
        return [found for each in held for found in _state_dicts(each, conditional or not alike)]
    return []


def _record_save(frame: Frame, node: ast.Call, held: StateDict, conditional: bool) -> None:
    machine = frame.machine
    if strips(machine.tree) or is_wrapped_by_another_way(frame, held):
        return
    if is_read_without_prefix(machine, own_file(frame), node):
        return
    place = node if held.function is frame.function else held.node or node
    machine.record_anyway(
        ("save", place, ("prefix", held.prefix)),
        lambda: WrappedStateDict(
            machine.span_of(place),
            "save",
            held.wrapper,
            held.prefix,
            held.owner,
            machine.span_of(held.made_at or place),
            conditional,
            None,
            *_places(frame, held.node),
            tested=not isinstance(held.made_at or place, ast.Call),
        ),
    )


def _places(frame: Frame, call: ast.AST | None) -> tuple[Span | None, Span | None]:
    """Where the model stands whose method is called, and where both together do."""
    callee = call.func if isinstance(call, ast.Call) else None
    if not isinstance(callee, ast.Attribute):
        return None, None
    return frame.machine.span_of(callee.value), frame.machine.span_of(callee)


def _note_module_method(event: ModuleMethodCalled) -> None:
    """``model.load_state_dict(checkpoint)``: into a wrapper, the file's keys must have its prefix."""
    frame, node, target = event.frame, event.node, event.module
    if event.name != "load_state_dict" or not isinstance(target, Library) or not target.prefix:
        return
    machine = frame.machine
    value = event.arguments.value(0, "state_dict")
    machine.explain(("prefix", target.prefix))
    saved = value if isinstance(value, StateDict) and not value.prefix else None
    if isinstance(value, Loaded):
        saved, wrapped = machine.memory(_Memory).saved.get(value.path, (None, []))
        saved = None if target.made_at in wrapped else saved  # the very model that was saved, wrapped or not
    if saved is None or strips(machine.tree):
        return
    machine.record_anyway(
        ("load into wrapper", node),
        lambda: WrappedStateDict(
            machine.span_of(node),
            "load",
            target.name,
            target.prefix,
            machine.text_of(event.receiver),
            machine.span_of(target.made_at or node),
            False,
            machine.span_of(saved.node) if saved.node is not None else None,
            *_places(frame, node),
        ),
    )


FUNCTIONS = {**dict.fromkeys(torch_api.LOADERS, _note_load), "torch.save": _note_save}
EVENTS = {FunctionReturned: _note_return, ForeignCalled: _note_helper, ModuleMethodCalled: _note_module_method}
