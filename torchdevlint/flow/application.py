"""What an application does with a finding: the file of one, whose programs and callers are all seen, as a whole.

A library is called by others, wherever their tensors are. Of an application all programs are there to be read: what
none of them comes to hurts nobody, and where all of them run on the current GPU alone, neither does the name of it.
"""

from __future__ import annotations

import ast
from functools import cached_property, partial
from pathlib import PurePath

from msgspec.structs import replace

from torchdevlint.flow.callers import Callers
from torchdevlint.flow.checks.written_before import writes_what_is_read
from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.devices import DeviceNumber
from torchdevlint.flow.facts.tensors import (
    ANOTHER_RETURN,
    RETURN,
    SIZED_ALIKE,
    IgnoresGivenDevice,
    MixedDevices,
    ReadOnHost,
)
from torchdevlint.flow.scope.call_sites import are_moved_at_once, call_sites, own_call_sites
from torchdevlint.flow.scope.cuda_literals import needs_cuda
from torchdevlint.flow.scope.cuda_programs import begins_on_gpu, sends_to_cuda
from torchdevlint.flow.scope.gpu_choice import GpuChoice, gpu_choice, offered_choice
from torchdevlint.flow.scope.mentions import Mentions
from torchdevlint.flow.scope.programs import is_program, mentions_accelerators, names_accelerators
from torchdevlint.flow.ways import Ways, names_on_the_way
from torchdevlint.model import Span
from torchdevlint.patterns import regex
from torchdevlint.project.missing import cannot_be_imported
from torchdevlint.project.modules import ModuleFile, bound_by, is_main_guard
from torchdevlint.project.packaging import is_application
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_STARTED = regex(r"__main__|\bargparse\b|\bparse_args\(")
"""What a file says that is started from outside, be it only to try what it defines."""
_FEWEST_OTHERS = 4
_MOST_BESIDE = 12
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_MOST_FILES = 120
"""Where programs are made of more files, what they do is not known."""


class Application:
    """The programs that one file is a part of; there are none where something can be installed, or nothing is run."""

    def __init__(self, tree: ast.Module, text: str, project: Project | None, callers: Callers) -> None:
        self._tree = tree
        self._text = text
        self._project = project
        self._callers = callers

    def has_use_for(self, fact: Fact) -> bool:
        """Whether a program may come to what the fact is about, and may be hurt by it."""
        if fact.LACKED and self._callers.give_attribute(fact.LACKED):
            return False
        if isinstance(fact, MixedDevices) and self._is_moved_by_callers(fact):
            return False
        if fact.at.file or not self._is_one:
            return True
        if self._cannot_be_imported or self._mentions.is_never_read(fact.at):
            return False
        if isinstance(fact, IgnoresGivenDevice):
            return not self._is_current_gpu(fact)
        if isinstance(fact, DeviceNumber):
            return self._choice.chooses or not self._choice.cuda
        if isinstance(fact, (MixedDevices, ReadOnHost)):
            return not self._is_of_cpu
        if isinstance(fact, CheckpointLoad):
            return not self._writes_on_cpu and (not self._needs_current_gpu or self._choice.processes)
        return True

    def graded(self, fact: Fact) -> Fact:
        """The fact with what the programs that come to it say of how bad it is.

        Where each GPU has a process, all of them read the file to the first one, also at home.
        """
        if not isinstance(fact, (CheckpointLoad, IgnoresGivenDevice)) or fact.at.file:
            return fact
        if self._is_left_over:
            return replace(fact, at_home=True)
        if not (self._is_one or self._stands_alone):
            return fact
        if isinstance(fact, CheckpointLoad) and fact.rank_code:
            return fact
        is_at_home = self._is_read_at_home if isinstance(fact, CheckpointLoad) else self._needs_cuda_at
        return replace(fact, at_home=is_at_home(fact.at))

    def _needs_cuda_at(self, at: Span) -> bool:
        """Whether each program that comes to a place needs CUDA for it, and all is on the current GPU.

        Where one of them chooses, the literal device is what keeps it from the others.
        """
        if self._leading.chooses or self._leading.offers or not self._choice.is_current_gpu:
            return False
        place, names, programs = self._leading_to(at)
        return bool(programs) and all(self._needing.are_all_so(each, names, place) for each in programs)

    def _is_read_at_home(self, at: Span) -> bool:
        """Whether each program that comes to a load needs CUDA for it, or has written the file before.

        A notebook that chooses no device is of the machine that it was written on.
        """
        assert self._project is not None
        place, names, programs = self._leading_to(at)
        if self._project.path.endswith(NOTEBOOK) and not self._leading.chooses:
            return True
        if place is None or not programs:
            return False
        writes = Ways(self._project, partial(writes_what_is_read, self._project.path, self._tree, place), loosely=True)
        return all(
            self._needing_of(each).are_all_so(each, names, place) or writes.are_all_so(each, names, place)
            for each in programs
        )

    def _needing_of(self, program: ModuleFile) -> Ways:
        """What needs CUDA in a program; in one that chooses a device itself, what names CUDA later is a mistake."""
        return self._needing_before if gpu_choice([program.source.text]).chooses else self._needing

    @cached_property
    def _needing_before(self) -> Ways:
        assert self._project is not None
        return Ways(self._project, needs_cuda)

    def _leading_to(self, at: Span) -> tuple[ast.Call | None, frozenset[str], list[ModuleFile]]:
        """The call at a place, the names of the functions that lead there, and the programs that do so."""
        place = next((each for each in nodes_in(self._tree, ast.Call) if _is_at(each, at)), None)
        around = next((each for each in self._tree.body if _holds(each, at.row)), None)
        defines = frozenset(bound_by(around)) if isinstance(around, _DEFINITIONS) else frozenset()
        programs, files = self._callers.programs_for(defines) if place is not None else ([], [])
        return place, frozenset() if place is None else names_on_the_way(files, place), programs

    @cached_property
    def _is_left_over(self) -> bool:
        """Whether nothing in an application runs or imports the file, or says its name, as others beside it are.

        Where none of these is imported, what would import them may not be there.
        """
        if self._project is None or not is_application(self._project) or self._callers.importers():
            return False
        own, others = self._project.path, self._project.saying(())
        if others is None or len(others) < _FEWEST_OTHERS or own.endswith(NOTEBOOK) or is_program(self._tree):
            return False
        beside = [each for each in others if PurePath(each).parent == PurePath(own).parent]
        if not any(map(self._project.importers, beside[:_MOST_BESIDE])):
            return False
        stem = (PurePath(own).stem,)
        said = self._project.saying(stem) or self._project.saying(stem, beside_code=True)
        return not any(map(is_main_guard, self._tree.body)) and said == ()

    @cached_property
    def _needing(self) -> Ways:
        assert self._project is not None
        return Ways(self._project, needs_cuda, after=True)

    def _is_current_gpu(self, fact: IgnoresGivenDevice) -> bool:
        """Whether the GPU that is named is the one that all is on, wherever the place is come to."""
        if self._begins_on_gpu:
            return True
        if fact.kind == "question":
            return self._choice.is_current_gpu
        return self._choice.takes_current_gpu if fact.asks else self._needs_current_gpu

    @cached_property
    def _needs_current_gpu(self) -> bool:
        """Whether no program that comes here runs without CUDA, and all is on one GPU.

        A program that sends something to CUDA whatever happens, and leaves nobody a choice, needs CUDA, even if a
        helper that it imports asks for it.
        """
        if self._choice.needs_current_gpu:
            return True
        if self._leading.chooses or self._choice.offers or not self._choice.is_current_gpu:
            return False
        programs = self._programs
        return bool(programs) and all(map(sends_to_cuda, programs))

    def _is_moved_by_callers(self, fact: MixedDevices) -> bool:
        """Whether the operands only meet in what a function returns, and all that call it move that at once.

        What is private is called in its own file, and so is what a program defines that nobody imports.
        """
        if fact.operation not in (RETURN, ANOTHER_RETURN, SIZED_ALIKE):
            return False
        functions = (each for each in self._tree.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
        function = next((each for each in functions if each.name == fact.scope), None)
        if function is None:
            return False
        if function.name.startswith("_") or (is_program(self._tree) and not self._callers.importers()):
            sites = own_call_sites(self._tree, function)
        else:
            sites = call_sites(self._tree, function, self._project) if self._project is not None else []
        return bool(sites) and are_moved_at_once(sites)

    @cached_property
    def _begins_on_gpu(self) -> bool:
        """Whether all programs that come here say first which GPU is the current one."""
        return bool(self._programs) and all(map(begins_on_gpu, self._programs))

    @cached_property
    def _programs(self) -> list[ast.Module]:
        """The programs that come here."""
        trees = (each.tree for each in self._callers.parsed(self._callers.importers()))
        return [each for each in (self._tree, *trees) if is_program(each)]

    @cached_property
    def _is_one(self) -> bool:
        """Whether it is run, or run by what imports it.

        A file without others of its project may be one of many, and what has a few files has hardly been begun.
        """
        if self._project is None or not is_application(self._project):
            return False
        others = self._project.saying(())
        if others is None or len(others) < _FEWEST_OTHERS:
            return False
        importers = self._callers.importers()
        if not importers and next(self._project.imported(self._project.path), None) is None:
            return False
        if any(each.endswith(NOTEBOOK) for each in (self._project.path, *(each.path for each in importers))):
            return True
        if any(_STARTED.search(each) for each in (self._text, *(each.text for each in importers))):
            return True
        return is_program(self._tree) or any(is_program(each.tree) for each in self._callers.parsed(importers))

    @cached_property
    def _stands_alone(self) -> bool:
        """Whether it is a program of an application, of which nobody imports anything."""
        if self._project is None or not is_application(self._project) or self._callers.importers():
            return False
        return is_program(self._tree) or self._project.path.endswith(NOTEBOOK)

    @cached_property
    def _cannot_be_imported(self) -> bool:
        assert self._project is not None
        return cannot_be_imported(self._tree, self._project)

    @cached_property
    def _is_of_cpu(self) -> bool:
        """Whether the programs that come here have nothing to do with accelerators, nor what they import.

        A notebook or a configuration that names the file may have.
        """
        assert self._project is not None
        texts = [self._text, *(each.text for each in self._callers.importers())]
        imported = None if any(map(mentions_accelerators, texts)) else self._imported()
        if imported is None or any(map(mentions_accelerators, imported)):
            return False
        return self._project.saying((PurePath(self._project.path).stem,), beside_code=True) == ()

    @cached_property
    def _writes_on_cpu(self) -> bool:
        """Whether the programs that come here know no device, and what they import names no accelerator.

        Then neither did those that wrote the files which they read: they are of the same project.
        """
        texts = [self._text, *(each.text for each in self._callers.importers())]
        imported = None if any(map(mentions_accelerators, texts)) else self._imported()
        if imported is None or any(map(names_accelerators, imported)):
            return False
        return is_program(self._tree) or self._is_of_cpu

    @cached_property
    def _mentions(self) -> Mentions:
        assert self._project is not None
        return Mentions(self._tree, self._project, self._callers.importers())

    @cached_property
    def _choice(self) -> GpuChoice:
        """What this file and those that lead to it say together, where nothing that they import says another thing."""
        imported = self._imported()
        if imported is None:
            return GpuChoice(chooses=True, by_option=True, offers=True, numbers=True)
        return self._leading | offered_choice(imported)

    @cached_property
    def _leading(self) -> GpuChoice:
        """What this file and those that lead to it say."""
        return gpu_choice([self._text, *(each.text for each in self._callers.importers())])

    def _imported(self) -> list[str] | None:
        """The texts of what this file and those that lead to it import; None for more than can be told."""
        assert self._project is not None
        level = [self._project.path, *(each.path for each in self._callers.importers())]
        seen, texts = set(level), []
        while level:
            paths = dict.fromkeys(path for home in level for path in self._project.imported(home))
            level = [path for path in paths if path not in seen]
            seen.update(level)
            if len(seen) > _MOST_FILES:
                return None
            found = (self._project.text_of(path) for path in level)
            texts += [each.text for each in found if each is not None]
        return texts


def _is_at(node: ast.Call, at: Span) -> bool:
    starts = node.lineno == at.row and node.col_offset + 1 >= at.column
    return starts and node.end_lineno == at.end_row and (node.end_col_offset or 0) + 1 >= at.end_column


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or line)
