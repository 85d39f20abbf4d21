"""The arms of ``isinstance(x, C)``: what is known of `x` in each of them."""

from __future__ import annotations

import ast

from torchdevlint.flow.kinds.instance_tests import is_instance_of
from torchdevlint.flow.kinds.parameters import place_of_argument
from torchdevlint.flow.kinds.unions import is_tensor_otherwise
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.type_tests import typed_by
from torchdevlint.flow.state.joins import choose, is_module
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import (
    NUMBER,
    UNKNOWN,
    Choice,
    Cls,
    Conditions,
    Obj,
    Ref,
    Seq,
    Step,
    Tensor,
    Unknown,
    Value,
)
from torchdevlint.patterns import regex

_OTHERS = frozenset("list tuple set range dict int float bool complex str bytes np.ndarray numpy.ndarray".split())
"""Classes of what is no tensor."""


def refine_instance(frame: Frame, test: ast.Call, holds: State | None, fails: State | None) -> None:
    """``isinstance(x, ..)`` and ``torch.is_tensor(x)`` leave the alternatives of `x` that can be one, or can be none.

    An argument of which nothing is known but that it is a tensor is where arguments are. A Module that is asked for
    another class may have been replaced by one: then nothing is known of it.
    """
    state, path = holds or fails, dotted_path(test.args[0]) if test.args else None
    kinds = _classes_asked(frame, test, state) if state is not None and path is not None else None
    if kinds is None or state is None or path is None:
        return
    value = frame.evaluate(test.args[0], state)
    if is_module(value) and holds is not None and _is_of_another_class(value, kinds):
        holds.bind(path, UNKNOWN)
    if not isinstance(test.args[0], ast.Name):
        return
    name = path
    for_tensors = isinstance(kinds, Ref) and kinds.name in torch_api.TENSOR_CLASSES
    if isinstance(value, Choice):
        for arm, outcome in ((holds, True), (fails, False)):
            held = [(each, is_instance_of(each[1], kinds)) for each in value.alternatives]
            left = [each for each, answer in held if answer in (None, outcome)]
            if arm is not None and left:
                arm.env[name] = choose(left)
            elif arm is not None:
                arm.alive = False
    elif isinstance(value, Unknown) and for_tensors and holds is not None:
        step = Step(f"`{name}` is tested to be a tensor here", test)
        holds.env[name] = Tensor(place_of_argument(frame, name, test.lineno), None, (), (step,))
    elif isinstance(value, Unknown) and fails is not None and is_tensor_otherwise(frame, name, kinds, state.conditions):
        fails.env[name] = given_tensor(place_of_argument(frame, name, test.lineno), test, name=f"`{name}`")
    elif isinstance(value, Unknown) and holds is not None and _are(kinds, _NUMBERS):
        holds.env[name] = NUMBER
    elif isinstance(value, Unknown) and holds is not None and _are(kinds, _SEQUENCES):
        holds.env[name] = Seq(None, value)


def refine_type(frame: Frame, test: ast.Compare, holds: State | None, fails: State | None) -> None:
    """``type(x) == torch.Tensor`` leaves what ``isinstance`` does; what else is compared may be of a class below."""
    asked, state = typed_by(test.left), holds or fails
    if asked is None or state is None or len(test.ops) > 1 or not isinstance(test.ops[0], _SAME_TYPE):
        return
    kind = frame.evaluate(test.comparators[0], state)
    if not isinstance(kind, Ref) or kind.name not in torch_api.TENSOR_CLASSES:
        return
    if isinstance(test.ops[0], (ast.NotEq, ast.IsNot)):
        holds, fails = fails, holds
    call = ast.Call(ast.Name("isinstance", ast.Load()), [asked, test.comparators[0]], [])
    refine_instance(frame, ast.copy_location(call, test), holds, fails)


_SAME_TYPE = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


def _is_of_another_class(value: Value, kinds: Value) -> bool:
    """Whether none of the classes of the project that are asked for is that of a value, or one below which it is."""
    asked = _each_of(kinds)
    line = value.info.mro if isinstance(value, Obj) else ()
    return bool(asked) and all(isinstance(each, Cls) and each.info not in line for each in asked)


_NUMBERS = frozenset({Ref("builtins.float"), Ref("builtins.int")})
_SEQUENCES = frozenset({Ref("builtins.list"), Ref("builtins.tuple")})


def _are(kinds: Value, known: frozenset[Value]) -> bool:
    """Whether a class that is asked for is one of those known, or each of a tuple of classes."""
    asked = _each_of(kinds)
    return bool(asked) and all(each in known for each in asked)


def _each_of(kinds: Value) -> tuple[Value, ...]:
    """The classes of a tuple of them, or the one."""
    return kinds.items or () if isinstance(kinds, Seq) else (kinds,)


def _classes_asked(frame: Frame, test: ast.Call, state: State) -> Value | None:
    """What a call of `isinstance`, or of `torch.is_tensor`, asks for."""
    if isinstance(test.func, ast.Name) and test.func.id == "isinstance" and len(test.args) == 2:
        return frame.evaluate(test.args[1], state)
    return Ref("torch.Tensor") if frame.evaluate(test.func, state) == Ref("torch.is_tensor") else None


def is_shown_no_tensor(conditions: Conditions, node: ast.expr) -> bool:
    """Whether a test says that it is none: ``is_tensor(x)``, ``type(x) is Tensor``, ``isinstance(x, list)``."""
    path = dotted_path(node)
    if path is None or not conditions:
        return False
    return any(_asks_for_others(str(key), path) if arm else _asks_for_tensor(str(key), path) for key, arm in conditions)


def _asks_for_others(key: str, path: str) -> bool:
    """``isinstance(x, list)``, ``isinstance(x, (float, np.ndarray))``, and nothing besides."""
    asked = f"isinstance({path}, "
    _, found, classes = key.partition(asked)
    if not found or not key.endswith(")") or key.partition(":")[2] != f"{asked}{classes}":
        return False
    return _OTHERS.issuperset(regex(r"[\w.]+").findall(classes.removesuffix(")")))


def _asks_for_tensor(key: str, path: str) -> bool:
    return (
        any(
            test in key
            for kind in ("torch.Tensor", "Tensor")
            for test in (f"isinstance({path}, {kind})", f"type({path}) == {kind}", f"type({path}) is {kind}")
        )
        or f"is_tensor({path})" in key
    )
