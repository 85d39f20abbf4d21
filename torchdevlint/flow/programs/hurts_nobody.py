"""What holds, and hurts nobody who runs the programs of an application that are seen: it is advice.

All programs that come to a place need CUDA for it, or have written the file that is read there, or end in an error; or
none comes to it, be it that its file was put aside; or they name CUDA nearly everywhere, so that the place is one of
many; or a function does not know of devices, and no call shows that its arguments are elsewhere than its tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from torchdevlint.flow.checks.loads.written_before import is_written_in
from torchdevlint.flow.facts.checkpoints import CheckpointLoad, WrappedStateDict
from torchdevlint.flow.facts.common import Creation, Fact
from torchdevlint.flow.facts.devices import DeviceNumber, MaybeCpuDevice
from torchdevlint.flow.facts.modules import LossNotMoved, ModulesInContainer
from torchdevlint.flow.facts.processes import RankMismatch
from torchdevlint.flow.facts.tensors import DiscardedMove, IgnoresGivenDevice, MixedDevices, ReadOnHost
from torchdevlint.flow.programs.loads.given_paths import is_written_by_hooks, is_written_by_this_run, ways_of_writing
from torchdevlint.flow.programs.loads.made_alike import is_made_as_saved
from torchdevlint.flow.programs.loads.never_written import is_never_written
from torchdevlint.flow.programs.loads.read_by_nobody import has_no_reader_without
from torchdevlint.flow.programs.loads.saved_on_cpu import SavedOnCpu
from torchdevlint.flow.programs.lost.cared_for_singly import are_cared_for_singly
from torchdevlint.flow.programs.lost.differentiated import is_only_differentiated
from torchdevlint.flow.programs.lost.moved_before import is_moved_before
from torchdevlint.flow.programs.lost.moved_results import is_moved_where_called
from torchdevlint.flow.programs.lost.needless_moves import is_lost_in_vain
from torchdevlint.flow.programs.machines.by_accelerate import is_on_its_gpu, is_one_process
from torchdevlint.flow.programs.machines.machines import Machines
from torchdevlint.flow.programs.placed.collated_in_place import is_in_place
from torchdevlint.flow.programs.placed.made_for_others import is_made_for_others
from torchdevlint.flow.programs.placed.on_accelerators import MIXING, OnAccelerators
from torchdevlint.flow.programs.reached.abandoned_files import is_left_over
from torchdevlint.flow.programs.reached.application import Application
from torchdevlint.flow.programs.reached.composed import is_transform_alone
from torchdevlint.flow.programs.reached.dead_lines import DeadLines
from torchdevlint.flow.programs.reached.dead_parts import begins_in, has_part_in
from torchdevlint.flow.programs.reached.ends_in_error import ends_in_error
from torchdevlint.flow.programs.reached.leading_to import LeadingTo
from torchdevlint.flow.programs.reached.local_to_tests import (
    is_met_in_test,
    is_of_fixture_on_cpu,
    is_of_test_on_cpu,
    is_test,
)
from torchdevlint.flow.programs.reached.never_finished import fails_first
from torchdevlint.flow.programs.reached.run_when_built import is_run_when_built
from torchdevlint.flow.programs.reached.trial_files import is_only_tried
from torchdevlint.flow.programs.reached.ways import Ways
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.handed_devices import is_built_on_cpu, is_built_on_cuda
from torchdevlint.flow.programs.texts.looked_up import LOADED_BY_NAME
from torchdevlint.flow.programs.texts.unplaced_loads import is_of_ranks, is_read_apart, is_written_by_what_knows_devices
from torchdevlint.flow.scope.asserted import asserts_cuda
from torchdevlint.flow.scope.cuda_literals import Scope, is_of_own_weight
from torchdevlint.flow.scope.knowing_devices import is_in_what_knows_devices
from torchdevlint.flow.scope.programs import is_program
from torchdevlint.model import Span
from torchdevlint.project.uses import Project
from torchdevlint.source.notebook import NOTEBOOK


class Harm:
    """Whether a fact hurts anybody: where the programs of its project run, seen from one of its files."""

    def __init__(
        self,
        tree: ast.Module,
        text: str,
        project: Project | None,
        callers: Callers,
        application: Application,
        on_accelerators: OnAccelerators,
    ) -> None:
        self._tree = tree
        self._text = text
        self._on_accelerators = on_accelerators
        self._project = project
        self._callers = callers
        self._application = application
        self._leading_to = LeadingTo(tree, callers)
        self._saved = SavedOnCpu()

    def graded(self, fact: Fact) -> Fact:
        """The fact with what the programs that come to it say of how bad it is."""
        if self._project is None:
            return fact
        if isinstance(fact, MIXING) and is_met_in_test(fact, self._tree, self._text, self._project):
            return replace(fact, hurts_nobody=True)
        if fact.at.file:  # what begins here meets there
            return replace(fact, hurts_nobody=fact.hurts_nobody or self._is_left_over or begins_in(fact, self._is_dead))
        is_needless = self._is_left_over or (isinstance(fact, _OF_MACHINES) and self._is_only_tried)
        nobody_comes = is_needless or self._is_of_test(fact.at) or has_part_in(fact, self._is_dead)
        hurts_nobody = nobody_comes or self._hurts_nobody(fact) or self._ends_before(fact.at) or self._fails_first(fact)
        return replace(fact, hurts_nobody=True) if hurts_nobody else fact

    def _hurts_nobody(self, fact: Fact) -> bool:
        assert self._project is not None
        if isinstance(fact, RankMismatch) and fact.kind == "global" and is_test(self._project):
            return True
        if (isinstance(fact, _OF_MACHINES) or fact.is_without_cuda) and self._machines.demand_cuda(fact):
            return not is_of_ranks(fact)
        is_of_loss = isinstance(fact, IgnoresGivenDevice) and is_only_differentiated(self._tree, fact.at)
        if (isinstance(fact, CheckpointLoad) or is_of_loss) and self._machines.is_of_gpu(fact):
            return not is_of_ranks(fact)
        if self._machines.is_of_cuda_library(fact):
            return not is_of_ranks(fact)
        if (isinstance(fact, DiscardedMove) and (fact.named or not fact.moves)) or fact.is_met_anywhere:
            return self._application.has_no_users
        if fact.wrong_result and not self._on_accelerators.use_what_is_given(fact.at.row, fact.wrong_result):
            return True
        if fact.rests_on_default and self._application.is_on_default_device(fact):
            return True
        is_theory = fact.is_theory and self._application.is_of_several
        is_apart = is_theory or (isinstance(fact, CheckpointLoad) and self._is_read_apart(fact))
        if (is_alone := self._application.has_no_users) and (is_apart or self._is_made_for_others(fact)):
            return True
        if fact.is_of_processes and self._project.path.endswith(NOTEBOOK) and is_one_process(self._tree):
            return True
        if isinstance(fact, DiscardedMove) and is_lost_in_vain(self._tree, fact, self._project, is_alone):
            return True
        is_there = is_alone and is_in_place(self._leading_to.own, fact, self._project)
        if is_there or self._machines.are_where_tensors_are(fact):
            return True
        if not (self._is_seen or self._stands_alone):
            return self._is_of_tensors_of_the_cpu(fact)
        if isinstance(fact, _OF_MACHINES) and self._machines.import_cuda_libraries(fact):
            return not is_of_ranks(fact)
        judged = _HURTS_NOBODY.get(type(fact), Harm._is_of_tensors_of_the_cpu)
        return judged(self, fact)

    def _load_hurts_nobody(self, fact: CheckpointLoad) -> bool:
        if self._stands_alone and self._application.is_of_several and self._is_written_on_the_cpu(fact.at):
            return True
        if not is_of_ranks(fact) and (self._is_read_at_home(fact.at) or self._machines.are_for_cuda):
            return True
        own, (load, _, _, files) = self._leading_to.own, self._leading_to(fact.at)
        if own is None or self._project is None or not isinstance(load, ast.Call):
            return False
        if not self._application.is_of_several:
            return False
        return is_never_written(own, self._project, load, files) or self._saved.is_read_by(own, self._project, load)

    def _is_read_apart(self, fact: CheckpointLoad) -> bool:
        if fact.of_data or fact.brought_back:
            return self._application.is_of_several or self._stands_alone
        load, _, _, files = self._leading_to(fact.at)
        own = self._leading_to.own
        if self._project is not None and is_written_by_hooks(own, self._project, load):
            return True
        if self._application.is_one and self._application.knows_no_device:
            return not is_written_by_what_knows_devices(load, own, self._project)
        return self._application.is_among_others and is_read_apart(fact, load, own, files, self._project)

    def _is_written_on_the_cpu(self, at: Span) -> bool:
        """Whether the file of a load saves what is read there, and neither it nor what it imports names an accelerator.

        Where such a program reads what others have saved, they may be written for CUDA.
        """
        own, load = self._leading_to.own, self._leading_to(at)[0]
        if own is None or self._project is None or not isinstance(load, ast.Call):
            return False
        written = is_written_in(own.path, self._tree, load, Scope(own, self._project))
        return written and self._application.is_of_cpu

    def _literal_hurts_nobody(self, fact: IgnoresGivenDevice) -> bool:
        if self._machines.is_file_for_cuda or self._machines.are_for_cuda or asserts_cuda(self._tree, fact.at.row):
            return True
        if self._machines.need_cuda_unasked(fact) or self._machines.need_cuda_before_choice(fact):
            return True
        asked = fact.kind == "question" and self._application.leading.is_current_gpu
        if asked or is_on_its_gpu(self._tree, fact) or is_built_on_cuda(self._tree, self._project, fact.at.row):
            return True
        if fact.asks and is_of_own_weight(fact.given) and self._application.choice.takes_current_gpu:
            return self._on_accelerators.move_what_holds(fact.at.row)
        return self._machines.are_on_current_gpu(fact) or self._machines.need_cuda(fact.at)

    def _number_hurts_nobody(self, fact: DeviceNumber) -> bool:
        """The number of a tensor's GPU is no device on the CPU alone, where an application for CUDA never is."""
        return self._machines.is_file_for_cuda or self._application.is_for_cuda or self._machines.need_cuda(fact.at)

    def _rank_hurts_nobody(self, fact: RankMismatch) -> bool:
        return fact.kind == "global" and self._application.meets_on_one_machine

    def _lost_move_hurts_nobody(self, fact: DiscardedMove) -> bool:
        assert self._project is not None
        if self._callers.importers():
            return False
        return is_moved_where_called(self._tree, fact) or is_moved_before(self._tree, fact, self._project)

    def _is_of_test(self, at: Span) -> bool:
        """Whether a place is in a class that a test has for itself, or tests as a fixture, on the CPU."""
        own = self._leading_to.own
        if own is None or self._project is None:
            return False
        if is_of_test_on_cpu(self._tree, own.source.lines, at.row):
            return True
        return is_of_fixture_on_cpu(own, self._project, at.row)

    def _is_of_tensors_of_the_cpu(self, fact: Fact) -> bool:
        """Whether no program shows that tensors of two devices meet, or code that does not speak of devices reads, or
        mixes with its own, an argument that nobody places.
        """
        is_several = self._application.is_of_several
        if isinstance(fact, MIXING) and self._dead_lines.leave_on_cpu(fact):
            return True
        if isinstance(fact, MIXING) and self._is_seen and is_several and not self._on_accelerators.may_show(fact):
            return True
        if not isinstance(fact, (LossNotMoved, MixedDevices, ReadOnHost)) or fact.placed_by_caller:
            return False
        if self._stands_alone and is_several and self._application.is_of_cpu:
            return True
        if isinstance(fact, MixedDevices) and self._is_seen and self._is_of_what_is_on_the_cpu(fact):
            return True
        if not fact.of_argument or is_in_what_knows_devices(self._tree, fact.at.row):
            return False
        return (self._is_seen or self._may_be_run_by_name) and not self._on_accelerators.show(fact)

    def _is_of_what_is_on_the_cpu(self, fact: MixedDevices) -> bool:
        """Whether a tensor is made while objects are built, or meets what is on the device of an object of the CPU.

        So does what a transform of data keeps, and meets when it is called.
        """
        if fact.creations and all(map(self._is_made_when_built, fact.creations)):
            return True
        own, place = self._leading_to.own, fact.other.device.strip("`")
        if own is None or self._project is None:
            return False
        if is_built_on_cpu(own, self._project, fact.at.row, place):
            return True
        return is_transform_alone(own, self._project, fact.at.row)

    def _is_made_for_others(self, fact: Fact) -> bool:
        own, project = self._leading_to.own, self._project
        if own is None or project is None or not isinstance(fact, MixedDevices):
            return False
        return is_made_for_others(fact, own, project, self._callers, is_of_several=self._application.is_of_several)

    def _is_made_when_built(self, made: Creation) -> bool:
        """Whether a tensor is made where all is on the CPU still, since constructors alone come there."""
        own = None if made.span.file else self._leading_to.own
        return own is not None and self._project is not None and is_run_when_built(own, self._project, made.span.row)

    @cached_property
    def _may_be_run_by_name(self) -> bool:
        """Whether it is of an application, with programs that come to some of its files by names which are texts."""
        assert self._project is not None
        if not self._application.has_no_users or not self._application.is_of_several:
            return False
        return any(self._project.saying((word,)) for word in LOADED_BY_NAME)

    @cached_property
    def _is_seen(self) -> bool:
        """Whether all programs that come to the file are there, since it has no users elsewhere."""
        return self._application.is_run and self._application.has_no_users

    def _ends_before(self, at: Span) -> bool:
        """Whether each program that comes to a place ends in an error before it or right after, on every machine."""
        return (self._is_seen or self._stands_alone) and self._leading_to.is_so(at, self._ending)

    @cached_property
    def _ending(self) -> Ways:
        assert self._project is not None
        return ends_in_error(self._project)

    def _fails_first(self, fact: Fact) -> bool:
        own, project = self._leading_to.own, self._project
        is_whole = own is not None and project is not None and self._application.is_among_others
        return is_whole and fails_first(fact, own, project)  # type: ignore[arg-type]

    def _is_read_at_home(self, at: Span) -> bool:
        """Whether each program that comes to a load needs CUDA for it, or has written the file before.

        A notebook that chooses no device is of the machine that it was written on.
        """
        assert self._project is not None
        place, names, programs, _ = self._leading_to(at)
        if self._project.path.endswith(NOTEBOOK) and not self._application.leading.chooses:
            return True
        own = self._leading_to.own
        if not isinstance(place, ast.Call) or own is None:
            return False
        chooses, needing = self._application.leading.chooses, self._machines.needing
        if self._leading_to.is_so_within(needing.before if chooses else needing.beside, place):
            return True
        if (taken := needing.of_what_is_loaded(place, self._tree)) is not None and self._leading_to.is_so(at, taken):
            return True
        writes = ways_of_writing(own, self._project, place)
        asked = (is_written_by_this_run, is_made_as_saved)
        if writes.is_so_within(own, place) or any(each(own, self._project, place) for each in asked):
            return True
        return bool(programs) and all(
            any(ways.are_all_so(each, names, place) for ways in (needing.of(each), writes, needing.in_helpers))
            for each in programs
        )

    def _is_dead(self, at: Span) -> bool:
        """Whether a place is in what no program of a project without other users comes to, or nobody at all."""
        if not self._application.has_no_users:
            return self._dead_lines.is_for_nobody or self._dead_lines.are_private(at.row)
        return self._dead_lines.hold(at, is_seen=self._is_seen, stands_alone=self._stands_alone)

    @cached_property
    def _dead_lines(self) -> DeadLines:
        assert self._project is not None
        return DeadLines(self._leading_to.own, self._project, self._callers, self._application)

    @cached_property
    def _is_left_over(self) -> bool:
        assert self._project is not None
        return is_left_over(self._tree, self._project, self._callers, self._application)

    @cached_property
    def _is_only_tried(self) -> bool:
        is_whole = self._application.has_no_users and self._application.is_of_several
        return is_whole and self._project is not None and is_only_tried(self._tree, self._project)

    @cached_property
    def _machines(self) -> Machines:
        assert self._project is not None
        return Machines(self._tree, self._project, self._callers, self._application, self._leading_to)

    @cached_property
    def _stands_alone(self) -> bool:
        """Whether it is a program of a project that nobody else uses, of which nobody imports anything."""
        if not self._application.has_no_users or self._project is None or self._callers.importers():
            return False
        return is_program(self._tree) or self._project.path.endswith(NOTEBOOK)


_HURTS_NOBODY: dict[type[Fact], Callable[[Harm, Any], bool]] = {
    CheckpointLoad: Harm._load_hurts_nobody,
    DeviceNumber: Harm._number_hurts_nobody,
    MaybeCpuDevice: lambda home, fact: home._leading_to.is_so(fact.at, home._machines.needing.asking),
    DiscardedMove: Harm._lost_move_hurts_nobody,
    IgnoresGivenDevice: Harm._literal_hurts_nobody,
    ModulesInContainer: lambda home, fact: are_cared_for_singly(fact, home._leading_to.own, home._project),
    RankMismatch: Harm._rank_hurts_nobody,
    ReadOnHost: lambda home, fact: fact.as_given or home._is_of_tensors_of_the_cpu(fact),
    WrappedStateDict: lambda home, fact: has_no_reader_without(fact, home._leading_to.own, home._project),
}
"""What is asked of facts of these kinds, where all programs that come to a place are seen."""
_OF_MACHINES = (CheckpointLoad, IgnoresGivenDevice, DeviceNumber)
"""What hurts on machines without CUDA, or with several GPUs."""
