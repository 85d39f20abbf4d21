"""Events: what the abstract run of a file tells those who look on while it goes on.

The modules of `run` know no check. Where something happens that one may want to see, they emit an event: the activation
(`frame`), what is known at that point (`state`), the place (`node`). A check's table ``EVENTS`` goes from kinds of
events to what is called with each, on every path (`torchdevlint.flow.observers`), and has no say in what that gives.
What waits for something rare begins to look on when that happens (`Machine.observe`).
"""

from __future__ import annotations

import ast

from msgspec import Struct

from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, Relation
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Library, Obj, Ref, Tensor, Value

Given = tuple[ast.expr, Value]
"""An argument or operand: the expression, and what it stands for."""


class _OnPath(Struct):
    """Something that happens on a path: in this activation, and what is known before it happens."""

    frame: Frame
    state: State


class _OfCall(_OnPath):
    """What happens in a call."""

    node: ast.Call


class Called(_OfCall):
    """What is called, and the arguments, were evaluated; of a method, `function` is what it is called on."""

    function: Value
    arguments: Arguments


class Drawn(Called):
    """The same, of what draws random numbers, by its name."""


class MethodCalled(_OfCall):
    """A method of `receiver`, which is no library namespace, is about to be called."""

    receiver: Value
    arguments: Arguments


class ModuleMethodCalled(_OfCall):
    """A method that `torch.nn.Module` brings to every Module is about to be called."""

    receiver: ast.expr
    name: str
    module: Library | Obj
    arguments: Arguments


class LibraryCalled(_OfCall):
    """A library function or class with the public name `name` is about to be called."""

    name: str
    arguments: Arguments


class ForeignCalled(LibraryCalled):
    """The same of one that is neither torch's, NumPy's nor Python's: what it does with its arguments is not known."""


class LibraryReturned(_OfCall):
    """It was called, and gave `result`."""

    name: str
    arguments: Arguments
    result: Value


class FunctionCalled(_OfCall):
    """A function of the project is about to be run with these arguments."""

    function: Func
    arguments: Arguments


class FunctionReturned(_OfCall):
    """It was run, as far as it could be."""

    function: Func
    arguments: Arguments


class Constructed(_OfCall):
    """An object of a class of the project is about to be made by `init`."""

    init: Func
    arguments: Arguments


class UnknownCalled(_OfCall):
    """Something that is not known is about to be called."""

    arguments: Arguments


class ModuleCalled(_OfCall):
    """A Module is about to be called: one of a library, or an object of a class of the project."""

    module: Library | Obj
    arguments: Arguments


class ModuleCompared(_OfCall):
    """What a library Module keeps meets the operands that it is called with."""

    module: Library
    operands: list[Given]


class LayerCalled(_OfCall):
    """A layer whose class is not known gets `operands`; `owner` is the object that holds it, if it is known."""

    layer: ast.expr
    operands: list[Given]
    owner: Obj | None = None


class Wrapped(_OfCall):
    """`wrapper`, such as a `DataParallel`, was put around a model."""

    wrapper: Library


class Placed(_OnPath):
    """Something is moved to `device`, or made there because the code says so."""

    node: ast.AST
    device: Device


class Escaped(Struct):
    """These values are moved, registered in a Module, or given to something that may do so."""

    frame: Frame
    values: list[Value]


class Operated(_OnPath):
    """An operation reads its operands."""

    node: ast.AST
    operation: str
    operands: list[Given]


class Met(_OnPath):
    """Two tensors are operands of one operation; `relation` is that of their devices."""

    node: ast.AST
    one: tuple[ast.expr, Tensor]
    other: tuple[ast.expr, Tensor]
    relation: Relation


class Mixed(_OnPath):
    """torch refuses an operation, since its operands surely are on different devices.

    `stayed` is the one that was not brought to the `other`; `written` says that the operation is to write into it,
    `made_of` names the model of which it was made before that moved.
    """

    node: ast.AST
    operation: str
    stayed: tuple[ast.expr, Tensor]
    other: tuple[ast.expr, Tensor]
    written: bool = False
    made_of: str = ""


class ReadByHost(_OnPath):
    """``t.numpy()``: the host asks for the memory of `tensor`; `forced` says that it may be copied for that.

    `given` says that it is an argument as it came, of which nothing but the read tells that it is a tensor.
    """

    node: ast.AST
    tensor: tuple[ast.expr, Tensor]
    forced: bool = False
    given: bool = False


class AttributeRead(_OnPath):
    """An attribute of a Module, or of an object of the project that has none of that name, is read."""

    node: ast.Attribute
    receiver: Obj | Library


class DeviceRead(_OnPath):
    """Where a tensor is that was made on the default device is asked for, in a method."""

    node: ast.Attribute
    tensor: Tensor


class GradientRead(_OnPath):
    """``t.grad`` is read."""

    node: ast.Attribute


class AttributeAssigned(_OnPath):
    """``receiver.name = value`` is about to be done."""

    node: ast.Attribute
    receiver: Value
    value: Value


class AttributeRefused(_OnPath):
    """``receiver.name = value`` raises, since a Module is registered there and `value` is none."""

    node: ast.Attribute
    receiver: Obj
    value: Value


class ItemAssigned(_OnPath):
    """``base[index] = value`` is about to be done; `value_node` is None where nobody wrote the value down."""

    node: ast.Subscript
    base: Value
    value: Value
    value_node: ast.expr | None


class Filled(_OnPath):
    """``base[index] = value``: `value` is where the model or an argument is, `base` on the CPU or a device by name."""

    node: ast.Subscript
    base: Tensor
    value_node: ast.expr
    value: Tensor


class Marked(Filled):
    """The same for a number, or for anything, which is written where `value`, a mask or an index, says."""


class Compared(_OnPath):
    """One thing is held against another: ``left == right``."""

    node: ast.Compare
    left: Value
    right: Value


class Collected(_OnPath):
    """``torch.tensor(values)`` of a list that holds tensors which are not on the CPU."""

    node: ast.Call


class Augmented(_OnPath):
    """``target |= value`` and its kin are about to be done."""

    node: ast.AugAssign
    value: Value


class Entered(_OnPath):
    """``with name(..):`` of a library is entered."""

    node: ast.expr
    name: str


class FileStarted(Struct):
    """A file is about to be run."""

    machine: Machine


class FunctionEnded(_OnPath):
    """A function that was entered on its own has been run; `end` is what is known where it ends."""

    end: State


class Initialised(Struct):
    """The ``__init__`` of a class, or another `method` that only the ``__init__`` of a base calls, left `state`."""

    machine: Machine
    info: ClassInfo
    state: State
    method: str = "__init__"


class FileEnded(Struct):
    """All of a file has been run."""

    machine: Machine


class Decorated(_OnPath):
    """A function is decorated with what a library calls `name`."""

    node: ast.expr
    name: str


class Branched(_OnPath):
    """An ``if`` is about to be run, or ``a if test else b`` to be evaluated."""

    node: ast.If | ast.IfExp


class Asked(_OnPath):
    """The truth of `node` is asked, or an operator takes it, and it is the function or class `value`."""

    node: ast.expr
    value: Ref


class Looped(_OnPath):
    """A ``for`` is about to be run."""

    node: ast.For | ast.AsyncFor


class Discarded(_OnPath):
    """An expression is about to be run whose result nobody sees."""

    node: ast.Expr


class Returned(_OnPath):
    """The function that was entered returns `value`."""

    node: ast.expr
    value: Value
