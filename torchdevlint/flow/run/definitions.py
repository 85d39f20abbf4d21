"""Statements that define functions and classes."""

from __future__ import annotations

import ast

from msgspec.structs import replace

from torchdevlint.flow.events import Decorated
from torchdevlint.flow.run.functions import run_function
from torchdevlint.flow.scope.decorators import is_harmless, is_plain, is_property
from torchdevlint.flow.scope.handed_on import hands_all_on
from torchdevlint.flow.state.classes import ClassInfo, bind
from torchdevlint.flow.state.machine import Frame, closure_of
from torchdevlint.flow.state.others import is_elsewhere, owner_of
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import NONE, UNKNOWN, Cls, Func, Ref, Value
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import inside


def define_function(frame: Frame, node: FunctionNode, state: State) -> None:
    _look_at_defaults(frame, node, state)
    qualname = f"{frame.scope}.{node.name}" if frame.scope else node.name
    owner = frame.owner if frame.function is not None else None
    function = Func(node, closure_of(frame, state), qualname, owner, None, is_plain(node))
    state.env[node.name] = _apply_decorators(frame, node, state, function) or function
    if owner_of(frame.closure) is None and not frame.depth:
        frame.machine.functions.setdefault(node, function)
    if frame.function is not None:
        _share_names(frame, node, state)


def _look_at_defaults(frame: Frame, node: FunctionNode, state: State) -> None:
    """Defaults are evaluated where the function is defined."""
    if not (node.args.defaults or node.args.kw_defaults) or _is_in_vain(frame):
        return
    for default in (*node.args.defaults, *node.args.kw_defaults):
        if default is not None:
            frame.evaluate(default, state)


def _is_in_vain(frame: Frame) -> bool:
    """Whether nothing is to be seen of what a definition evaluates: in another file only what touches CUDA matters.

    A decorator of such a file is none of the file that is analysed, unless a function is given it as an argument.
    """
    return frame.machine.reading.is_elsewhere and not frame.machine.sets_visible_devices


def _share_names(frame: Frame, node: ast.AST, state: State) -> None:
    """What a function declares `nonlocal` is bound wherever it is called, so nothing stays known of it."""
    for each in inside(node):
        if isinstance(each, ast.Nonlocal):
            frame.shared.update(each.names)
            state.env.update(dict.fromkeys(each.names, UNKNOWN))


def _apply_decorators(
    frame: Frame,
    node: FunctionNode | ast.ClassDef,
    state: State,
    function: Func | None = None,
) -> Func | None:
    """A decorator of this file runs when the definition does; gives the function that takes the place of `function`.

    That is known where each decorator of the function is one of this file, or one that changes nothing.
    """
    if not node.decorator_list or (frame.function is None and _is_in_vain(frame)):
        return None
    made: Value = UNKNOWN if function is None else replace(function, plain=True)
    replaced = False
    for decorator in reversed(node.decorator_list):
        value = frame.evaluate(decorator, state)
        if isinstance(value, Ref):
            frame.machine.emit(Decorated(frame, state, decorator, value.name))
        if isinstance(value, Func) and hands_all_on(value.node):
            replaced = True
        elif isinstance(value, Func) and not is_elsewhere(value):
            made, replaced = run_function(frame, state, decorator, value, (made,), {}), True
        elif not isinstance(node, ast.ClassDef) and not is_harmless(decorator):
            made = UNKNOWN
    return made if replaced and isinstance(made, Func) else None


def define_class(frame: Frame, node: ast.ClassDef, state: State) -> None:
    info = _made(frame, node, state)
    state.env[node.name] = Cls(info)
    _apply_decorators(frame, node, state)
    inner, context = state.copy(), frame.context
    if info.is_module:
        frame.context = "init"
        _tell_mixins(info)
    for statement in node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _look_at_defaults(frame, statement, inner)
            if statement.decorator_list:
                method = replace(bind(info, statement, None), receiver=None)
                wrapper = _apply_decorators(frame, statement, inner, method)
                if wrapper is not None and not is_property(statement):
                    info.wrappers[statement] = wrapper
        elif isinstance(statement, ast.ClassDef):
            define_class(frame, statement, inner)
            info.attributes.setdefault(statement.name, inner.env[statement.name])
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            value = frame.evaluate(statement.value, inner)
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    info.attributes.setdefault(target.id, value)
                    inner.env[target.id] = value
                    _tell_bases(info, target.id, value)
    state.touched, frame.context = inner.touched, context


def _tell_bases(info: ClassInfo, name: str, value: Value) -> None:
    """``_conv = nn.Conv2d`` in a class below: what ``self._conv`` is in a base that leaves it open."""
    for base in info.mro[1:]:
        if base.attributes.get(name, NONE) == NONE and name not in base.all_methods:
            base.classes_below.setdefault(name, []).append(value)


def _tell_mixins(info: ClassInfo) -> None:
    """What a Module is derived from besides, ``class Block(nn.Module, Scan)``, keeps Parameters as Modules do."""
    for base in info.mro[1:]:
        base.is_module = True


def _made(frame: Frame, node: ast.ClassDef, state: State) -> ClassInfo:
    """The class that the statement makes, which in each call of a function is another one."""
    machine = frame.machine
    bases = [_base(frame, base, state) for base in node.bases if not isinstance(base, ast.Starred)]
    classes = machine.classes if owner_of(frame.closure) is None else machine.classes_elsewhere
    info = classes.get(node)
    if info is None or frame.depth:
        info = ClassInfo(node, bases, closure_of(frame, state), machine.settings)
        if frame.depth:
            machine.classes_in_calls.append(info)
        else:
            classes[node] = info
    return info


def _base(frame: Frame, node: ast.expr, state: State) -> Value:
    """A base class; ``Base[Kind]`` is `Base` itself."""
    value = frame.evaluate(node, state)
    if not isinstance(node, ast.Subscript):
        return value
    generic = frame.evaluate(node.value, state)
    return generic if isinstance(generic, (Cls, Ref)) else value
