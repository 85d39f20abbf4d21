"""The *synthesised* program: the flagged function is imported and called, on an instance of its class if it has one."""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from torchdevlint.runtime.execute.before import before
from torchdevlint.runtime.execute.called import (
    BEFORE,
    FUNCTION,
    INIT,
    METHOD,
    MODULE,
    RECEIVER,
    Callee,
    Values,
    as_call,
    is_argument,
)
from torchdevlint.runtime.execute.deciding import Deciding
from torchdevlint.runtime.execute.errors import CannotBeginError, told
from torchdevlint.runtime.execute.missing import advice
from torchdevlint.runtime.execute.open_ended import of_bases, open_ended
from torchdevlint.runtime.execute.search import at_first as likeliest
from torchdevlint.runtime.execute.slots import Slot, slots_of
from torchdevlint.runtime.execute.target import (
    FunctionNode,
    Place,
    Target,
    first_line,
    functions_of,
    import_name,
    method_of,
)
from torchdevlint.runtime.execute.values import Setting, arguments, build

MOST_ITEMS = 4


class CallProgram:
    """One of the functions that hold the flagged lines."""

    def __init__(self, target: Target, place: Place, module: Any, alone: bool) -> None:
        self.target, self.place = target, place
        self.wanted = target.spans_in(place.function) if alone else target.spans
        self.complete = True
        self.owner: type | None = None
        if place.owner is not None:
            self.owner = _concrete(getattr(module, place.owner.name, None), place.function.name, module)
        function = getattr(self.owner if self.owner is not None else module, place.function.name, None)
        if function is None:
            raise CannotBeginError(f"`{place.qualname}` is not there after the import")
        self.function, self.module = function, str(module.__name__)
        self.slots = list(self._slots())
        prefix = INIT if place.function.name == "__init__" else ""
        keys = [slot.key for slot in self.slots]
        first = {slot.name: slot.key for slot in self.slots if slot.key.startswith(BEFORE)}
        self.deciding = Deciding(target.tree, str(target.path), place.function, place.owner, keys, first)
        self.spoken_of = {f"{prefix}{name}" for name in target.parameters_of(place.function)}

    def _slots(self) -> Iterator[Slot]:
        node, owner = self.place.function, self.place.owner
        static = self.owner is not None and isinstance(
            inspect.getattr_static(self.owner, node.name, None), (staticmethod, classmethod)
        )
        self.on_instance = self.owner is not None and not static and _takes_something(node)
        if self.on_instance and node.name not in ("__init__", "__new__"):
            assert owner is not None
            init = method_of(self.target.tree, owner, "__init__")
            yield from slots_of(self.owner, init, INIT, owner=owner)  # type: ignore[arg-type]
            yield from self._for_bases()
            yield from before(owner, node, self.owner)  # type: ignore[arg-type]
        if node.name == "__init__":
            yield from slots_of(self.owner, node, INIT, owner=owner)  # type: ignore[arg-type]
            yield from self._for_bases()
        elif isinstance(self.function, property):
            return
        else:
            yield from slots_of(self.function, node, skip=1 if self.on_instance else 0)

    def _for_bases(self) -> Iterator[Slot]:
        assert self.owner is not None
        yield from of_bases(self.owner)
        yield from open_ended(self.owner, INIT)

    def run(self, values: Mapping[str, Any], setting: Setting) -> tuple[Any, Any]:
        """What the function gives, and the instance that it was called on."""
        torch.manual_seed(0)
        is_module = self.owner is not None and issubclass(self.owner, torch.nn.Module)
        at_first = setting.before_the_move if is_module else setting
        told = {key: one for key, one in values.items() if one["is"] != "default"}
        instance = None
        call = self.function
        if self.on_instance:
            assert self.owner is not None
            instance = self._instance(told, at_first)
            if isinstance(instance, torch.nn.Module):
                instance.to(setting.modules)
            name = self.place.function.name
            if name == "__init__":
                return instance, instance
            if isinstance(self.function, property):
                return getattr(instance, name), instance
            call = _method(instance, name)
            for each in (one for key, one in told.items() if key.startswith(BEFORE)):
                listed, named = arguments(each, setting)
                _method(instance, each["method"])(*listed, **named)
        listed, named = arguments(as_call({key: one for key, one in told.items() if is_argument(key)}), setting)
        result = call(*listed, **named) if not _positional_only(call) else call(*listed, *named.values())
        if inspect.isgenerator(result):
            result = list(itertools.islice(result, MOST_ITEMS))
        return result, instance

    def _instance(self, told: Values, setting: Setting) -> Any:
        """One that was seen in use, or one that is constructed from the values of its slots."""
        if RECEIVER in told:
            return build(told[RECEIVER], setting)
        assert self.owner is not None
        given = {key.removeprefix(INIT): one for key, one in told.items() if key.startswith(INIT)}
        listed, named = arguments(as_call(given), setting)
        return self.owner(*listed, **named)

    @property
    def callee(self) -> str:
        """``module:Class.method``, as calls that were seen are told by."""
        owner = self.place.owner
        name = self.place.function.name
        if owner is not None and name == "forward" and self.owner is not None:
            name = owner.name if issubclass(self.owner, torch.nn.Module) else f"{owner.name}.{name}"
        elif owner is not None:
            name = f"{owner.name}.{name}"
        return f"{self.module}:{name}"

    def seen(self, told: Mapping[str, Any]) -> list[Values]:
        """Values of calls that were seen, and instances that were, with the likeliest arguments for the call.

        A constructor has only what it was seen to get.
        """
        class_path = f"{self.module}:{self.place.owner.name}" if self.place.owner is not None else ""
        made = told["made"].get(class_path, []) if self.on_instance else []
        if self.place.function.name == "__init__":
            return [{RECEIVER: one} for one in made]
        rest = {key: one for key, one in likeliest(self.slots).items() if not key.startswith(INIT)}
        return [*told["calls"].get(self.callee, ()), *({RECEIVER: one, **rest} for one in made)]


def callees(target: Target, module: Any) -> Iterator[Callee]:
    """What of the file can be called: its functions and methods."""
    for owner, function in functions_of(target.tree):
        name = function.name if owner is None else f"{owner.name}.{function.name}"
        kind = FUNCTION if owner is None else METHOD
        if owner is not None and function.name == "forward":
            found = getattr(module, owner.name, None)
            if inspect.isclass(found) and issubclass(found, torch.nn.Module):
                name, kind = owner.name, MODULE
        yield Callee(module.__name__, name, kind, str(target.path), first_line(function))


def _takes_something(node: FunctionNode) -> bool:
    """Whether a method takes its instance: one without any parameter can be called on its class only."""
    return bool(node.args.posonlyargs or node.args.args or node.args.vararg)


def _method(instance: Any, name: str) -> Any:
    of_module = isinstance(instance, torch.nn.Module) and name == "forward"
    return instance if of_module or name == "__call__" else getattr(instance, name)


def _positional_only(function: Any) -> bool:
    try:
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return False
    return inspect.Parameter.POSITIONAL_ONLY in kinds


def load(target: Target) -> Any:
    """Import the module of the finding. Raises CannotBeginError with what is missing."""
    folder, name = import_name(target.path)
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        root = (error.name or "").partition(".")[0]
        if root in sys.modules:
            why = f"importing `{name}` fails: `{root}` is here without its part `{error.name}`"
        else:
            why = f"importing `{name}` needs `{error.name}`, which is not installed here ({advice(error.name or root)})"
        raise CannotBeginError(why) from error
    except BaseException as error:  # `sys.exit()` at import is an answer as well
        raise CannotBeginError(f"importing `{name}` fails: {told(error)}") from error


def programs(target: Target, construction: bool, alone: bool = False) -> Iterator[CallProgram]:
    """The functions of the finding that can be called. Raises CannotBeginError if none can.

    For findings about `construction` it is enough that an instance is made; `alone`, each function is run for itself.
    """
    if not target.places:
        raise CannotBeginError("the flagged line is in no function or method that could be called")
    module = load(target)
    reasons = []
    for place in target.places if alone else _entries(target):
        if construction and place.function.name != "__init__":
            reasons.append(f"`{place.qualname}` is no constructor")
            continue
        if isinstance(place.function, ast.AsyncFunctionDef):
            reasons.append(f"`{place.qualname}` is asynchronous")
            continue
        try:
            program = CallProgram(target, place, module, alone=construction or alone)
        except CannotBeginError as error:
            reasons.append(str(error))
            continue
        yield program
    if reasons:
        raise CannotBeginError("; ".join(reasons))


def _entries(target: Target) -> Iterator[Place]:
    """What is called: `forward` of the class first, which comes to what it calls, then the flagged functions."""
    seen = set()
    for place in target.places:
        if place.owner is not None and place.function.name not in ("forward", "__init__"):
            forward = method_of(target.tree, place.owner, "forward")
            if forward is not None and id(forward) not in seen:
                seen.add(id(forward))
                yield Place(forward, place.owner, place.regions)
        if id(place.function) not in seen:
            seen.add(id(place.function))
            yield place


def _concrete(owner: Any, method: str, module: Any) -> type:
    """The class, or for an abstract one its first subclass in the module that has the method."""
    if not inspect.isclass(owner):
        raise CannotBeginError("its class is not there after the import")
    if not inspect.isabstract(owner):
        return owner
    for each in vars(module).values():
        if inspect.isclass(each) and issubclass(each, owner) and not inspect.isabstract(each) and hasattr(each, method):
            return each
    raise CannotBeginError(f"`{owner.__name__}` is abstract")
