"""On which machines the programs of an application run that come to a place: whether all need CUDA, and on which GPU.

What a program chooses is theory where it cannot take the CPU's arm to its end: it sends something to CUDA by name
without a question, asks a GPU for something, or imports what is for CUDA alone.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.devices import DeviceNumber
from torchdevlint.flow.facts.tensors import IgnoresGivenDevice
from torchdevlint.flow.programs.machines.cuda_libraries import imports_cuda_library
from torchdevlint.flow.programs.machines.demands import Demands, demands_before
from torchdevlint.flow.programs.machines.needed_by_callers import is_asked_by_callers, is_needed_by_callers
from torchdevlint.flow.programs.machines.needing_cuda import NeedingCuda
from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.reached.leading_to import LeadingTo
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.cuda_habit import named_in
from torchdevlint.flow.programs.texts.gpu_choice import GpuChoice, gpu_choice, switched_on, without_switches
from torchdevlint.flow.programs.texts.looked_up import LOADED_BY_NAME
from torchdevlint.flow.scope.asked_paths import asks_machine
from torchdevlint.flow.scope.cuda_literals import (
    Scope,
    is_of_object,
    is_of_own_weight,
    is_of_tensor,
    names_cuda_alone,
    sets_current_gpu,
)
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.model import Span
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.functions import functions_in
from torchdevlint.source.nodes import nodes_in

_QUESTION = "torch.cuda.is_available()"
_SHOWN_ELSEWHERE = frozenset({"kept", "buffer", "passed"})
"""How a literal stands beside a tensor that another function brings to it."""


class Machines:
    """Where the programs of one project run, asked for the places of one of its files."""

    def __init__(
        self, tree: ast.Module, project: Project, callers: Callers, application: Application, leading_to: LeadingTo
    ) -> None:
        self._tree = tree
        self._project = project
        self._callers = callers
        self._application = application
        self._leading_to = leading_to
        self.needing = NeedingCuda(project)
        self._choosing_gpu = Ways(project, sets_current_gpu)
        self._demands = Demands(project)

    def demand_cuda(self, fact: Fact) -> bool:
        """Whether each program that comes to a place demands CUDA elsewhere, or whoever uses the code there does."""
        own, is_literal = self._leading_to.own, isinstance(fact, IgnoresGivenDevice)
        if own is None or not self._are_seen:
            return False
        throughout = is_literal and not self._application.choice.is_current_gpu
        is_of_flag = isinstance(fact, IgnoresGivenDevice) and fact.kind == "flag"
        programs = self._leading_to(fact.at)[2] or self._application.importing_programs or self._loading_programs
        made = [self._demands.of(each) for each in programs]
        if is_of_flag and any(each.is_mostly_asked for each in made):
            return False  # others like it forget the switch as well, which most obey
        return self._demands.are_made(own, fact.at.row, made, not is_literal, throughout)

    @cached_property
    def _loading_programs(self) -> list[ModuleFile]:
        """The programs that load modules by texts, or import what does, where no import names the file.

        If anything comes there, one of them does.
        """
        project = self._project
        if self._callers.importers() or any(project.saying((each,), beside_code=True) for each in LOADED_BY_NAME):
            return []
        loading = dict.fromkeys(path for word in LOADED_BY_NAME for path in project.saying((word,)) or ())
        paths = dict.fromkeys(each for path in loading for each in (path, *project.importers(path)))
        files = [project.module(each) for each in paths]
        return [each for each in files if each is not None and is_program(each.tree)]

    def describe_gpu(self, at: Span) -> bool:
        """Whether the function around a place, or each program that comes there, surely asks what its GPU is.

        It raises on every other machine, before the place or right after.
        """
        return self._are_seen and self._leading_to.is_so(at, self.needing.describing)

    def is_of_gpu(self, fact: Fact) -> bool:
        """Whether what surely runs with a place asks what its GPU is, or a load is where all needs the current GPU: so
        does the function around it, or what makes its object, be it in a project of a few files.
        """
        if self.describe_gpu(fact.at):
            return True
        place, _, programs, files = self._leading_to(fact.at)
        is_alone = self._application.has_no_users and self._application.has_others
        if not isinstance(fact, CheckpointLoad) or place is None or not is_alone:
            return False
        if self._application.choice.needs_current_gpu and self._leading_to.is_so_within(self.needing.before, place):
            return True
        return not programs and is_asked_by_callers(place, files, self._project, self.needing.asking, self._is_called)

    def _is_called(self, name: str) -> bool:
        """Whether a text of the project says a name otherwise than to define it."""
        said = re.compile(rf"(?<!def )(?<!class )\b{re.escape(name)}\b")
        paths = self._project.saying((name,))
        own = "" if self._leading_to.own is None else self._leading_to.own.source.text
        if said.search(own) or paths is None or self._project.saying((name,), beside_code=True) != ():
            return True
        return any((text := self._project.text_of(each)) is None or said.search(text.text) for each in paths)

    def are_where_tensors_are(self, fact: Fact) -> bool:
        """Whether the literal of a fact is where the tensor is that it stands beside: on the current GPU.

        Nobody has chosen where that is: no program is seen to come there, nobody chooses anything, or all callers need
        CUDA beside.
        """
        if not isinstance(fact, IgnoresGivenDevice) or not self._are_seen:
            return False
        is_beside = is_of_object(fact.given)
        if (is_beside or fact.kind in _SHOWN_ELSEWHERE) and not self._come_to(fact.at):
            return True
        if not is_beside:
            return False
        if is_of_tensor(fact.given) and self._choose_nothing(fact.at):
            return True
        place, _, _, files = self._leading_to(fact.at)
        needed = place is not None and is_needed_by_callers(place, files, self._project)
        return needed and self._application.choice.is_current_gpu

    def need_cuda_before_choice(self, fact: IgnoresGivenDevice) -> bool:
        """Whether what chooses a device has surely sent something to CUDA by name before: the choice is theory.

        Whoever comes to the place is on the current GPU then.
        """
        own, chosen = self._leading_to.own, fact.given_at
        if own is None or chosen.file or not self._application.choice.is_current_gpu:
            return False
        asked = (each for each in nodes_in(own.tree, ast.Call) if asks_machine(each))
        if not any(each.lineno == chosen.row for each in asked):
            return False
        around = [each for each in functions_in(own.tree) if each.lineno <= chosen.row <= (each.end_lineno or 0)]
        innermost = max(around, key=lambda each: each.lineno, default=None)
        return demands_before(Scope(own, self._project, innermost), chosen.row)

    def need_cuda_unasked(self, fact: IgnoresGivenDevice) -> bool:
        """Whether a move beside those that ask for CUDA is nothing to what leads there: each program has surely sent
        something to CUDA by name before, in functions that do not ask.

        A switch says more: whoever sets it wants to do without.
        """
        if fact.kind != "flag" or fact.given != _QUESTION:
            return False
        place, names, programs, _ = self._leading_to(fact.at)
        return bool(programs) and all(self.needing.unasked.are_all_so(each, names, place) for each in programs)

    def is_of_cuda_library(self, fact: Fact) -> bool:
        """Whether the file of a load imports what is for CUDA alone: whoever comes there has a GPU, seen or not.

        Or it is what a kernel of an extension gets, which is launched on the current GPU as often as not, so that one
        buffer more on another one helps nobody; the kernels of a project lie in a library of its own.
        """
        if isinstance(fact, IgnoresGivenDevice) and fact.kind == "kernel":
            return self._application.is_of_several
        own = self._leading_to.own
        is_load = isinstance(fact, CheckpointLoad) and self._are_seen
        return is_load and own is not None and imports_cuda_library(own, self._project)

    def import_cuda_libraries(self, fact: Fact) -> bool:
        """Whether the file, or each program that comes to a place of it, imports what is for CUDA alone.

        All has to be on the current GPU, unless the number of any GPU will do.
        """
        own, programs = self._leading_to.own, self._leading_to(fact.at)[2]
        files = [own] if own is not None and imports_cuda_library(own, self._project) else programs
        if not files or not all(imports_cuda_library(each, self._project) for each in files):
            return False
        # reads the text of every file of the application
        return isinstance(fact, DeviceNumber) or self._application.choice.is_current_gpu

    def are_on_current_gpu(self, fact: IgnoresGivenDevice) -> bool:
        """Whether each program that comes to a place says first which GPU is the current one.

        What is run only where CUDA was found is right as well where no program chooses by anything else.
        """
        place, names, programs, files = self._leading_to(fact.at)
        if not programs:
            return False
        is_known = is_of_object(fact.given) and not is_of_own_weight(fact.given)
        if fact.asks and is_known and self._application.choice.is_current_gpu:
            by_option = gpu_choice(each.source.text for each in files).by_option
            if not by_option:
                return True
        return all(self._choosing_gpu.are_all_so(each, names, place) for each in programs)

    def need_cuda(self, at: Span) -> bool:
        """Whether each program that comes to a place needs CUDA for it, and all is on the current GPU.

        Where one of them chooses, the literal device is what keeps it from the others, unless they ask a GPU for
        something before, or surely call a helper that no choice gets to; where none names anything but CUDA, all are
        for CUDA, be the ways to the place understood or not.
        """
        place, names, programs, files = self._leading_to(at)
        said = self._said_in([each.source.text for each in files])
        if said.chooses:
            asked = not said.by_option and self._application.choice.is_current_gpu
            return asked and (self._leading_to.is_so(at, self.needing.asking) or self._go_on_to_helper(at))
        if not programs or said.offers:
            return False
        if said.cuda and said.is_current_gpu and all(names_cuda_alone(each, self._project) for each in files):
            return True
        is_current = self._application.choice.is_current_gpu
        return is_current and all(self.needing.beside.are_all_so(each, names, place) for each in programs)

    def _said_in(self, texts: list[str]) -> GpuChoice:
        """What texts say, without the switches that they have as an entry which is on, and that nothing else sets."""
        said = gpu_choice(texts)
        if not said.chooses:
            return said
        names = [each for each in switched_on(texts) if self._project.saying((each,), beside_code=True) == ()]
        return gpu_choice(without_switches(each, names) for each in texts) if names else said

    def _go_on_to_helper(self, at: Span) -> bool:
        """Whether each program that comes to a place of a file that chooses a device surely calls a helper elsewhere
        that sends to CUDA by name, and is told none: the choice is theory, as a change of the place would be.
        """
        own = self._leading_to.own
        chooses = own is not None and gpu_choice([own.source.text]).chooses
        return chooses and self._leading_to.is_so(at, self.needing.in_helpers)

    @property
    def are_for_cuda(self) -> bool:
        """Whether the application is for CUDA by habit, and all is on the current GPU."""
        return self._application.is_for_cuda and self._application.choice.is_current_gpu

    @property
    def is_file_for_cuda(self) -> bool:
        """Whether hardly anything in the file chooses a device: a finding is one of many places, which go together."""
        return named_in([self._tree]).is_for_cuda

    @property
    def _are_seen(self) -> bool:
        return self._application.has_no_users and self._application.is_of_several

    def _come_to(self, at: Span) -> bool:
        """Whether a program is seen to run a place."""
        programs = self._application.programs
        return programs is not None and bool(programs.seen_at(at.row))

    def _choose_nothing(self, at: Span) -> bool:
        """Whether neither a file nor those that lead to a place of it choose a device, nor what such a program imports.

        Then tensors are nowhere but on the current GPU. Where no program is seen to lead there, what is imported may
        choose for other places.
        """
        own, (_, _, programs, files) = self._leading_to.own, self._leading_to(at)
        if own is None:
            return False
        held = [own, *files]
        if gpu_choice(each.source.text for each in held).chooses or (programs and self._application.choice.chooses):
            return False
        return all(names_cuda_alone(each, self._project) for each in held)
