"""Classes of the file: their bases, whether they are Modules, and what their attributes hold."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from torchdevlint.config import Settings
from torchdevlint.flow.knowledge import libraries, torch_api
from torchdevlint.flow.scope import assigned_by_name, class_text
from torchdevlint.flow.scope.annotations import annotated_tensor
from torchdevlint.flow.scope.decorators import decorator_names, is_plain, is_property
from torchdevlint.flow.scope.names import canonical, dotted_path, is_one_of, takes_inputs
from torchdevlint.flow.scope.own_devices import moves_itself
from torchdevlint.flow.scope.quantized import calculates_quantized
from torchdevlint.flow.state.others import owner_of
from torchdevlint.flow.state.records import fields_of
from torchdevlint.flow.state.values import Closure, Cls, Conditions, Func, RecordType, Ref, Value
from torchdevlint.patterns import regex
from torchdevlint.source.functions import FunctionNode
from torchdevlint.source.nodes import arguments_of, assignments_in, nodes_in

if TYPE_CHECKING:
    from torchdevlint.flow.state.touch import Touch

_KNOWN_BASES = ("torch.", "builtins.", *libraries.PLAIN_BASES)
_MODULE_WORDS = ("Module", "Model", "Layer", "Network", "Block", "Encoder", "Decoder", "Kernel", "Conv")
MODULE_NAMESPACES = ("torch.nn.", "torch.nn.modules.", "torch.nn.parallel.")
_NOT_MODULES = ("torch.nn.Parameter", "torch.nn.functional", "torch.nn.utils", "torch.nn.init")
NO_MODULE = regex(r"Transform|Augment|Compose|Function|Pipeline|Dataset|Processor|Scheduler")
_NO_MODULES_THERE = ("torch.", "builtins.", "tf.", *(f"{each}." for each in sorted(libraries.OTHER_FRAMEWORKS)))
_EVIDENCE_CALLS = frozenset("register_buffer register_parameter add_module parameters named_parameters".split())


class ClassInfo:
    """What is known of one class statement. Compared by identity."""

    def __init__(self, node: ast.ClassDef, bases: list[Value], closure: Closure, settings: Settings) -> None:
        self.node = node
        self.name = node.name
        self.bases = bases
        self.closure = closure
        self.settings = settings
        self.attributes: dict[str, Value] = {}
        """What `self.x` holds, joined over the methods that write it; class-level names too."""
        self.classes_below: dict[str, list[Value]] = {}
        """What classes derived from this one say under names that it leaves to them."""
        self.apart_from_calls: dict[str, Value] = {}
        """The same for what methods write that were entered on their own, and not for an instance made in this file."""
        self.written_if: dict[str, Conditions] = {}
        """Under which conditions each attribute of `self` was written first."""
        self.appended: dict[str, dict[ast.AST, Value]] = {}
        """What methods append to the lists that `self` keeps, by name and place."""
        self.evaluated: set[ast.AST] = set()
        """Methods whose writes to `self` are in `attributes`."""
        self.assigned_at: dict[str, ast.AST] = {}
        """Where each attribute of `self` is first assigned."""
        self.touched: Touch | None = None
        """The call in ``__init__`` that made CUDA read the visible devices; methods run after it."""
        self.wrappers: dict[ast.AST, Func] = {}
        """What the decorators of this file make of a method."""

    def __repr__(self) -> str:
        return f"ClassInfo({self.name})"

    @cached_property
    def in_pipeline(self) -> bool:
        """Whether its tensors are on the CPU: an instance is part of the input pipeline, or quantized operators run."""
        return calculates_quantized(self.node)

    @cached_property
    def methods(self) -> dict[str, FunctionNode]:
        return class_text.methods_of(self.node)

    @cached_property
    def mro(self) -> tuple[ClassInfo, ...]:
        """This class and its bases in this file, nearest first."""
        found: list[ClassInfo] = [self]
        for base in self.bases:
            if isinstance(base, Cls):
                found += [info for info in base.info.mro if info not in found]
        return tuple(found)

    @cached_property
    def library_bases(self) -> tuple[str, ...]:
        """The public names of the bases that are not in this file, through the ones that are."""
        return tuple(base.name for info in self.mro for base in info.bases if isinstance(base, Ref))

    @cached_property
    def base_names(self) -> tuple[str, ...]:
        """The names of the bases outside of this file, those of other files of the project too."""
        return (*(info.name for info in self.mro[1:] if owner_of(info.closure) is not None), *self.library_bases)

    @cached_property
    def is_module(self) -> bool:
        """Whether it is a `torch.nn.Module`: by its bases, or, where those cannot be resolved, by what it does."""
        configured = self.settings.module_bases + self.settings.device_managed_bases
        if any(is_module_class(name) or is_one_of(name, configured) for name in self.library_bases):
            return True
        names = [name for name in self.library_bases if name.partition(".")[0] not in sys.stdlib_module_names]
        unknown = any(not isinstance(base, (Cls, Ref, RecordType)) for info in self.mro for base in info.bases)
        if any(name.startswith(_NO_MODULES_THERE) for name in names) or not (names or unknown):
            return False
        if any(info._holds_parameters for info in self.mro) or any(name.endswith(".Module") for name in names):
            return True
        named_so = any(name.endswith(_MODULE_WORDS) for name in names)
        if self._forwards_tensors or (named_so and takes_inputs(self.all_methods.get("forward", (None, None))[1])):
            return True
        behaves_so = "forward" in self.all_methods or named_so or any(moves_itself(info.node) for info in self.mro)
        return behaves_so and any(info._registers for info in self.mro)

    @cached_property
    def resolved(self) -> bool:
        """Whether every base is known, so that an attribute that is not seen here is not there."""
        return all(
            isinstance(base, (Cls, RecordType)) or (isinstance(base, Ref) and base.name.startswith(_KNOWN_BASES))
            for info in self.mro
            for base in info.bases
        )

    @cached_property
    def is_dataclass(self) -> bool:
        """Whether it, or a base in this file, is decorated as a dataclass."""
        decorators = (
            each.func if isinstance(each, ast.Call) else each for info in self.mro for each in info.node.decorator_list
        )
        return any(self.public_name(each) == "dataclasses.dataclass" for each in decorators)

    @cached_property
    def record(self) -> RecordType | None:
        """What its instances hold under names, if that is all that they are, and nothing writes behind the names."""
        return None if class_text.writes_behind_names(self.node) else fields_of(self)

    @cached_property
    def all_methods(self) -> dict[str, tuple[ClassInfo, FunctionNode]]:
        """Every method by name, as attribute access finds it, with the class that defines it."""
        found: dict[str, tuple[ClassInfo, FunctionNode]] = {}
        for info in self.mro:
            for name, node in info.methods.items():
                found.setdefault(name, (info, node))
        return found

    @cached_property
    def writers(self) -> dict[str, tuple[ast.AST, ...]]:
        """For each attribute of `self`, the methods of this class that assign it."""
        return class_text.writers_in(self.node)

    @cached_property
    def makes_layers(self) -> bool:
        """Whether it makes layers of torch.nn that have parameters, parameters, or models of another library."""
        calls = ((self.public_name(node.func), node) for node in nodes_in(self.node, ast.Call))
        return any(
            name == "torch.nn.Parameter"
            or (name.startswith("torch.nn.") and name[9:] in torch_api.PARAMETER_MODULES)
            or libraries.makes_model(name)
            or libraries.makes_pretrained_model(name, {each.arg or "" for each in node.keywords})
            for name, node in calls
            if name is not None
        )

    @cached_property
    def _registers(self) -> bool:
        """Whether a method makes a parameter or a layer of torch.nn, no loss, or asks `self` for parameters."""
        for node in nodes_in(self.node, ast.Call):
            if not isinstance(node.func, ast.Attribute):
                continue
            root = node.func.value
            if isinstance(root, ast.Name) and node.func.attr in _EVIDENCE_CALLS and root.id in self._own_names:
                return True
            name = self.public_name(node.func)
            if name == "torch.nn.Parameter" or (name and is_module_class(name) and not name.endswith("Loss")):
                return True
        return False

    @cached_property
    def _own_names(self) -> frozenset[str]:
        """`self`, and names for copies of it: ``new = deepcopy(self)``."""
        return frozenset(
            node.targets[0].id
            for node in assignments_in(self.node)
            if isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and (self.public_name(node.value.func) or "") in ("copy.copy", "copy.deepcopy")
            and [dotted_path(each) for each in node.value.args[:1]] == ["self"]
        ) | {"self"}

    @cached_property
    def _forwards_tensors(self) -> bool:
        """Whether it has a forward that takes tensors by annotation, besides `self`, and lets a base set itself up."""
        found = self.all_methods.get("forward")
        if found is None or NO_MODULE.search(" ".join((self.name, *self.base_names))):
            return False
        spec = found[1].args
        annotated = any(annotated_tensor(each.annotation) for each in (*spec.posonlyargs, *spec.args)[1:])
        init = self.all_methods.get("__init__")
        return annotated and init is not None and any(_inherited_inits(init[1]))

    @cached_property
    def given_to_unseen_base(self) -> frozenset[str]:
        """Names that ``__init__`` hands on to a base of another file, which may register what they stand for."""
        init = self.methods.get("__init__")
        if init is None or self.resolved:
            return frozenset()
        given = (each for call in _inherited_inits(init) for each in arguments_of(call))
        return frozenset(each.id for each in given if isinstance(each, ast.Name))

    @cached_property
    def _holds_parameters(self) -> bool:
        """Whether a method assigns a `torch.nn.Parameter` to an attribute of `self`, which only a Module registers."""
        for node in assignments_in(self.node):
            if not isinstance(node.targets[0], ast.Attribute):
                continue
            value = node.value
            for each in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                if isinstance(each, ast.Call) and self.public_name(each.func) == "torch.nn.Parameter":
                    return True
        return False

    def public_name(self, node: ast.expr) -> str | None:
        """The public name of a chain of attributes on something imported, else None."""
        rest, found = (dotted_path(node) or "").partition(".")[2], self.found(node)
        return canonical(f"{found.name}.{rest}".rstrip(".")) if isinstance(found, Ref) else None

    def found(self, node: ast.expr) -> Value | None:
        """What the first name in a chain of attributes means where the class stands."""
        root = (dotted_path(node) or "").partition(".")[0]
        return next((scope[root] for scope in self.closure.scopes if root in scope), None)

    def assigns_by_name(self, attribute: str) -> bool:
        """Whether a method may assign the attribute under a name that it computes."""
        return assigned_by_name.assigns_by_name(self.node, attribute)

    def method(self, name: str, receiver: Value | None) -> Func | None:
        """The method of that name, bound to `receiver`, or to nothing or the class if it is static or of the class."""
        found = self.all_methods.get(name)
        return None if found is None else _decorated(*found, receiver)

    def accessor(self, name: str, receiver: Value) -> Func | None:
        """What reads an attribute of that name, where a ``@name.setter`` puts what is assigned into another tensor.

        What a setter only keeps under another name is what is read.
        """
        info, method = self.all_methods.get(name, (self, None))
        if method is None or "setter" not in tuple(decorator_names(method)) or class_text.self_writes(method):
            return None
        getters = (each for each in info.node.body if is_property(each) and getattr(each, "name", "") == name)
        return next((bind(info, each, receiver) for each in getters), None)  # type: ignore[arg-type]

    def inherited(self, name: str, receiver: Value) -> Func | None:
        """What ``super().name`` is."""
        for info in self.mro[1:]:
            if name in info.methods:
                return _decorated(info, info.methods[name], receiver)
        return None


def _inherited_inits(init: FunctionNode) -> Iterator[ast.Call]:
    """``super().__init__(..)``, in either spelling."""
    for call in nodes_in(init, ast.Call):
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "__init__"
            and isinstance(call.func.value, ast.Call)
            and isinstance(call.func.value.func, ast.Name)
            and call.func.value.func.id == "super"
        ):
            yield call


def bind(info: ClassInfo, node: FunctionNode, receiver: Value | None) -> Func:
    if node.decorator_list:
        names = decorator_names(node)
        if "staticmethod" in names:
            receiver = None
        elif "classmethod" in names:
            receiver = Cls(info)
    return Func(node, info.closure, f"{info.name}.{node.name}", info, receiver, is_plain(node))


def _decorated(info: ClassInfo, node: FunctionNode, receiver: Value | None) -> Func:
    """The method as reading it gives it, where a decorator of this file made something else of it."""
    bound, wrapper = bind(info, node, receiver), info.wrappers.get(node)
    return bound if wrapper is None or bound.receiver is None else replace(wrapper, receiver=bound.receiver, owner=info)


def is_module_class(name: str) -> bool:
    """Whether a library class is a `torch.nn.Module`."""
    if libraries.is_module(name):
        return True
    if not name.startswith(MODULE_NAMESPACES) or name.startswith(_NOT_MODULES):
        return False
    return name.rpartition(".")[2].lstrip("_")[:1].isupper()
