"""Whether what a line works on can be on an accelerator in some program of an application.

A tensor that is made on the default device is wrong where something else is on an accelerator. In an application all
programs are there to be read: one has to come to the line, and to bring something to an accelerator.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from torchdevlint.flow.facts.common import Fact, Operand
from torchdevlint.flow.facts.modules import LossNotMoved, MovedParameter
from torchdevlint.flow.facts.tensors import BatchNotMoved, MixedDevices, ReadOnHost
from torchdevlint.flow.programs.placed.definitions import Object
from torchdevlint.flow.programs.placed.placed_values import PlacedValues
from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.reached.running import Running
from torchdevlint.flow.programs.reached.ways import top_level
from torchdevlint.flow.programs.texts.places import expression_of, first_holding
from torchdevlint.flow.scope.cuda_literals import Scope
from torchdevlint.flow.scope.hidden_gpus import hide_gpus
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import inside, nodes_in

MIXING = (BatchNotMoved, LossNotMoved, MixedDevices, ReadOnHost)
"""What hurts where something is on an accelerator."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
MOST_CODE = 2500
"""Where a program runs more functions and statements of the top level, it is not asked where its values go."""


class OnAccelerators:
    """What the programs that come to one file of an application bring to accelerators on their ways."""

    def __init__(self, project: Project | None, application: Application) -> None:
        self._project = project
        self._application = application
        self._placed: dict[int, PlacedValues] = {}

    def have_use_for(self, fact: Fact) -> bool:
        """Whether a program may be hurt by what a fact says of tensors that are on different devices.

        One has to come to the line with an operand that is on an accelerator; so it may where nobody knows. A Parameter
        that is made of what is there already is moved nowhere, and stays one.
        """
        if isinstance(fact, MovedParameter):
            return not self._bring_what_is_wrapped(fact)
        if isinstance(fact, MIXING) and self._see_no_gpu:
            return False
        programs = self._application.programs if isinstance(fact, MIXING) and not fact.at.file else None
        coming = None if programs is None else programs.coming_to(fact.at.row)
        return coming is None or any(self._is_placed(each, _placed(fact)) for each in coming)

    @cached_property
    def _see_no_gpu(self) -> bool:
        """Whether all programs that come to the file let CUDA see no GPU; a library may have others elsewhere."""
        if self._project is None or (self._application.importing_programs and not self._application.has_no_users):
            return False
        programs = self._application.leading_programs
        return bool(programs) and all(hide_gpus(top_level(each)) for each in programs)

    def _bring_what_is_wrapped(self, fact: MovedParameter) -> bool:
        """Whether each program that is known to come to a Parameter may make it of what is on an accelerator."""
        programs = None if fact.at.file else self._application.programs
        coming = None if programs is None else programs.coming_to(fact.at.row)
        if fact.tensor_at is None or not coming:
            return False
        wrapped = Operand(fact.tensor, "", fact.tensor_at)
        return all(self._is_placed(each, wrapped, unknown=False) for each in coming)

    def show(self, fact: Fact) -> bool:
        """Whether a program is seen to come to a line with an operand that is on an accelerator."""
        programs = self._application.programs if isinstance(fact, MIXING) and not fact.at.file else None
        coming = [] if programs is None else programs.seen_at(fact.at.row)
        return any(self._is_placed(each, _placed(fact), unknown=False) for each in coming)

    def may_show(self, fact: Fact) -> bool:
        """Whether a program that is seen to run a line may bring an operand to an accelerator, as `show`; so may one
        that is too large to be followed, or a file that is started with what nobody knows.
        """
        programs = self._application.programs
        if programs is None or fact.at.file or programs.are_of_unknown_ways:
            return True
        seen = programs.seen_at(fact.at.row)
        return any(self._values(each) is None for each in seen) or self.show(fact)

    def move_what_holds(self, line: int) -> bool:
        """Whether each program that comes to a line may move objects of the class around it, as far as is known."""
        programs = self._application.programs
        coming = None if programs is None else programs.coming_to(line)
        return coming is None or all(self._moves_what_holds(each, line) for each in coming)

    def use_what_is_given(self, line: int, method: str) -> bool:
        """Whether a program may use what a method gives of objects of the class around a line, as far as is known."""
        programs = self._application.programs
        coming = None if programs is None else programs.coming_to(line)
        return coming is None or any(self._uses_what_is_given(each, line, method) for each in coming)

    def _uses_what_is_given(self, program: Running, line: int, method: str) -> bool:
        assert self._project is not None
        file, values = program.file(self._project.path), self._values(program)
        owner = None if file is None else scope_of(file, self._project, line).owner
        if file is None or owner is None or values is None:
            return True
        asked = ((scope, each) for scope, node in program.scopes for each in _asked_for_result(node, method))
        tokens = {token for scope, each in asked for token in values.tokens(scope, each)}
        classes = {each.of for each in tokens if isinstance(each, Object)}
        return any((file.path, owner.lineno) in values.known.line_of(each) for each in classes)

    def _moves_what_holds(self, program: Running, line: int) -> bool:
        assert self._project is not None
        file = program.file(self._project.path)
        owner = None if file is None else scope_of(file, self._project, line).owner
        values = self._values(program)
        if file is None or owner is None or values is None:
            return True
        return values.moves(Object((file.path, owner.lineno)))

    def _values(self, program: Running) -> PlacedValues | None:
        """Where the values of a program go; None where it is too large to be followed."""
        values = self._begun(program)
        return values if values is not None and values.is_complete else None

    def _begun(self, program: Running) -> PlacedValues | None:
        """The same as far as they were followed."""
        if len(program.scopes) > MOST_CODE:
            return None
        if id(program) not in self._placed:
            self._placed[id(program)] = PlacedValues(program)
        return self._placed[id(program)]

    def _is_placed(self, program: Running, operand: Operand, *, unknown: bool = True) -> bool:
        """Whether an operand may be on an accelerator in a program; `unknown` where that is not asked."""
        assert self._project is not None
        file = program.file(operand.span.file or self._project.path)
        node = None if file is None else expression_of(file.tree, operand.span)
        values = None if file is None or node is None else self._begun(program)
        if values is not None and values.placing.places_nothing:
            return False
        if file is None or node is None or values is None or not values.is_complete:
            return unknown
        return values.may_be_placed(scope_of(file, self._project, operand.span.row), node)


def _placed(fact: Fact) -> Operand:
    """The operand that a fact says to be on an accelerator."""
    return fact.value if isinstance(fact, ReadOnHost) else fact.other  # type: ignore[attr-defined]


def _asked_for_result(node: ast.stmt, method: str) -> Iterator[ast.expr]:
    """What some code calls a method of, whose result is read."""
    dropped = {each.value for each in inside(node) if isinstance(each, ast.Expr)}
    for call in nodes_in(node, ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == method and call not in dropped:
            yield call.func.value


def scope_of(file: ModuleFile, project: Project, line: int) -> Scope:
    """The function of the top level, or the method, that holds a line."""
    outer = first_holding(file.tree.body, line)
    owner = outer if isinstance(outer, ast.ClassDef) else None
    inner = first_holding(owner.body, line) if owner is not None else outer
    return Scope(file, project, inner if isinstance(inner, _FUNCTIONS) else None, owner)
