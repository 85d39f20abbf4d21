"""Events: what the abstract run of a file tells those who look on while it goes on.

The modules that run statements, expressions and calls know no check. Where something happens that a check may want to
see, they emit an event, which holds the activation (`frame`), what is known at that point (`state`), and the place in
the tree (`node`). A check is a module of `torchdevlint.flow.checks` with a table ``EVENTS`` from kinds of events to the
function that is called with each of them, at once and on every path (`torchdevlint.flow.observers`). What that does
has no say in what the run gives. A check that waits for something rare begins to look on when that happens
(`Machine.observe`), since most events come by the million.
"""

from __future__ import annotations

import ast

from msgspec import Struct

from torchdevlint.flow.state.arguments import Arguments
from torchdevlint.flow.state.classes import ClassInfo
from torchdevlint.flow.state.devices import Device, Relation
from torchdevlint.flow.state.machine import Frame, Machine
from torchdevlint.flow.state.point import State
from torchdevlint.flow.state.values import Func, Library, Obj, Tensor, Value

Given = tuple[ast.expr, Value]
"""An argument or operand: the expression, and what it stands for."""


class Called(Struct):
    """What is called, and the arguments, were evaluated; of a method, `function` is what it is called on."""

    frame: Frame
    state: State
    node: ast.Call
    function: Value
    arguments: Arguments


class MethodCalled(Struct):
    """A method of `receiver`, which is no library namespace, is about to be called."""

    frame: Frame
    state: State
    node: ast.Call
    receiver: Value
    arguments: Arguments


class ModuleMethodCalled(Struct):
    """A method that `torch.nn.Module` brings to every Module is about to be called."""

    frame: Frame
    state: State
    node: ast.Call
    receiver: ast.expr
    name: str
    module: Library | Obj
    arguments: Arguments


class LibraryCalled(Struct):
    """A library function or class with the public name `name` is about to be called."""

    frame: Frame
    state: State
    node: ast.Call
    name: str
    arguments: Arguments


class LibraryReturned(Struct):
    """It was called, and gave `result`."""

    frame: Frame
    state: State
    node: ast.Call
    name: str
    arguments: Arguments
    result: Value


class FunctionCalled(Struct):
    """A function of the project is about to be run with these arguments."""

    frame: Frame
    state: State
    node: ast.Call
    function: Func
    arguments: Arguments


class FunctionReturned(Struct):
    """It was run, as far as it could be."""

    frame: Frame
    state: State
    node: ast.Call
    function: Func
    arguments: Arguments


class Constructed(Struct):
    """An object of a class of the project is about to be made by `init`."""

    frame: Frame
    state: State
    node: ast.Call
    init: Func
    arguments: Arguments


class UnknownCalled(Struct):
    """Something that is not known is about to be called."""

    frame: Frame
    state: State
    node: ast.Call
    arguments: Arguments


class ModuleCalled(Struct):
    """A Module is about to be called: one of a library, or an object of a class of the project."""

    frame: Frame
    state: State
    node: ast.Call
    module: Library | Obj
    arguments: Arguments


class ModuleCompared(Struct):
    """What a library Module keeps meets the operands that it is called with."""

    frame: Frame
    state: State
    node: ast.Call
    module: Library
    operands: list[Given]


class LayerCalled(Struct):
    """A layer whose class is not known gets `operands`; `owner` is the object that holds it, if it is known."""

    frame: Frame
    state: State
    node: ast.Call
    layer: ast.expr
    operands: list[Given]
    owner: Obj | None = None


class Wrapped(Struct):
    """`wrapper`, such as a `DataParallel`, was put around a model."""

    frame: Frame
    state: State
    node: ast.Call
    wrapper: Library


class Placed(Struct):
    """Something is moved to `device`, or made there because the code says so."""

    frame: Frame
    state: State
    node: ast.AST
    device: Device


class Escaped(Struct):
    """These values are moved, registered in a Module, or given to something that may do so."""

    frame: Frame
    values: list[Value]


class Operated(Struct):
    """An operation reads its operands."""

    frame: Frame
    state: State
    node: ast.AST
    operation: str
    operands: list[Given]


class Met(Struct):
    """Two tensors are operands of one operation; `relation` is that of their devices."""

    frame: Frame
    state: State
    node: ast.AST
    one: tuple[ast.expr, Tensor]
    other: tuple[ast.expr, Tensor]
    relation: Relation


class Mixed(Struct):
    """torch refuses an operation, since its operands surely are on different devices.

    `stayed` is the one that was not brought to the `other`; `written` says that the operation is to write into it.
    """

    frame: Frame
    state: State
    node: ast.AST
    operation: str
    stayed: tuple[ast.expr, Tensor]
    other: tuple[ast.expr, Tensor]
    written: bool = False


class ReadByHost(Struct):
    """``t.numpy()``: the host asks for the memory of `tensor`; `forced` says that it may be copied for that."""

    frame: Frame
    state: State
    node: ast.AST
    tensor: tuple[ast.expr, Tensor]
    forced: bool = False


class AttributeRead(Struct):
    """An attribute of a Module, or of an object of the project that has none of that name, is read."""

    frame: Frame
    state: State
    node: ast.Attribute
    receiver: Obj | Library


class GradientRead(Struct):
    """``t.grad`` is read."""

    frame: Frame
    state: State
    node: ast.Attribute


class AttributeAssigned(Struct):
    """``receiver.name = value`` is about to be done."""

    frame: Frame
    state: State
    node: ast.Attribute
    receiver: Value
    value: Value


class AttributeRefused(Struct):
    """``receiver.name = value`` raises, since a Module is registered there and `value` is none."""

    frame: Frame
    state: State
    node: ast.Attribute
    receiver: Obj
    value: Value


class ItemAssigned(Struct):
    """``base[index] = value`` is about to be done; `value_node` is None where nobody wrote the value down."""

    frame: Frame
    state: State
    node: ast.Subscript
    base: Value
    value: Value
    value_node: ast.expr | None


class Filled(Struct):
    """``base[index] = value``, where `base` is a tensor of the CPU and `value` one of the model or of an argument."""

    frame: Frame
    state: State
    node: ast.Subscript
    base: Tensor
    value_node: ast.expr
    value: Tensor


class Collected(Struct):
    """``torch.tensor(values)`` of a list that holds tensors which are not on the CPU."""

    frame: Frame
    state: State
    node: ast.Call


class Augmented(Struct):
    """``target |= value`` and its kin are about to be done."""

    frame: Frame
    state: State
    node: ast.AugAssign
    value: Value


class Entered(Struct):
    """``with name(..):`` of a library is entered."""

    frame: Frame
    state: State
    node: ast.expr
    name: str


class FileStarted(Struct):
    """A file is about to be run."""

    machine: Machine


class FunctionEnded(Struct):
    """A function that was entered on its own has been run."""

    frame: Frame
    state: State


class Initialised(Struct):
    """The ``__init__`` of a class was run, and left `state`."""

    machine: Machine
    info: ClassInfo
    state: State


class FileEnded(Struct):
    """All of a file has been run."""

    machine: Machine


class Decorated(Struct):
    """A function is decorated with what a library calls `name`."""

    frame: Frame
    state: State
    node: ast.expr
    name: str


class Chosen(Struct):
    """``a if test else b`` is about to be evaluated."""

    frame: Frame
    state: State
    node: ast.IfExp


class Branched(Struct):
    """An ``if`` is about to be run."""

    frame: Frame
    state: State
    node: ast.If


class Looped(Struct):
    """A ``for`` is about to be run."""

    frame: Frame
    state: State
    node: ast.For | ast.AsyncFor


class Discarded(Struct):
    """An expression is about to be run whose result nobody sees."""

    frame: Frame
    state: State
    node: ast.Expr


class Returned(Struct):
    """The function that was entered returns `value`."""

    frame: Frame
    state: State
    node: ast.expr
    value: Value
