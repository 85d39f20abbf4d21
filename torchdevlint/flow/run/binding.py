"""The parameters of a function that is called, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchdevlint.flow.kinds.by_default import default_value
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.names import defaults, positional_names
from torchdevlint.flow.state.joins import join_all
from torchdevlint.flow.state.machine import Frame
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.tensors import given_tensor
from torchdevlint.flow.state.values import UNKNOWN, Map, Seq, Unknown, Value
from torchdevlint.source.functions import AnyFunction


def bind_parameters(
    activation: Frame, node: AnyFunction, arguments: Sequence[Value], keywords: Mapping[str, Value], state: State
) -> None:
    """Put the arguments of a call under the names of the parameters; what was not given has its default.

    What may be a tensor in a known place is one, where the parameter is annotated so.
    """
    spec = node.args
    names = positional_names(node)
    env = state.env
    for name, value in zip(names, arguments, strict=False):
        env[name] = value
    if spec.vararg is not None:
        extra = tuple(arguments[len(names) :])
        more = keywords.get("*")
        env[spec.vararg.arg] = (
            Seq(extra, join_all(list(extra))) if more is None else Seq(None, join_all([*extra, more]))
        )
    rest: dict[str, Value] = {}
    known = {*names, *(each.arg for each in spec.kwonlyargs)}
    for name, value in keywords.items():
        if name in known:
            env[name] = value
        elif name not in ("*", "**"):
            rest[name] = value
    if spec.kwarg is not None:
        env[spec.kwarg.arg] = Map(tuple(rest.items()), keywords.get("**", UNKNOWN), closed="**" not in keywords)
    for name, default in defaults(node):
        if name not in env:
            env[name] = UNKNOWN if default is None else default_value(activation, default)
    for name in known:
        env.setdefault(name, UNKNOWN)
    for parameter in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        value = env[parameter.arg]
        if type(value) is Unknown and value.given is not None and annotated_tensor(parameter.annotation):
            env[parameter.arg] = given_tensor(value.given, parameter, name=f"`{parameter.arg}`")
