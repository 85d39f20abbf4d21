"""What an application does with a finding: the file of one, whose programs and callers are all seen, as a whole.

A library is called by others, wherever their tensors are. Of an application all programs are there to be read: what
none of them comes to hurts nobody, and where all of them run on the current GPU alone, neither does the name of it.
"""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import PurePath

from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.facts.devices import DeviceNumber
from torchdevlint.flow.facts.tensors import (
    ANOTHER_ARM,
    ANOTHER_RETURN,
    FIRST_STATE,
    RETURN,
    SIZED_ALIKE,
    TYPED_ALIKE,
    IgnoresGivenDevice,
    MixedDevices,
    ReadOnHost,
)
from torchdevlint.flow.knowledge import torch_api
from torchdevlint.flow.programs.reached.coming import Programs
from torchdevlint.flow.programs.reached.dead_parts import has_part_in
from torchdevlint.flow.programs.reached.default_library import is_of_default_library
from torchdevlint.flow.programs.reached.ways import Ways, top_level
from torchdevlint.flow.programs.texts.callers import Callers
from torchdevlint.flow.programs.texts.cuda_habit import named_in
from torchdevlint.flow.programs.texts.gpu_choice import UNKNOWN, GpuChoice, gpu_choice, offered_choice
from torchdevlint.flow.programs.texts.mentions import Mentions
from torchdevlint.flow.programs.texts.own_trainers import without_own_trainers
from torchdevlint.flow.programs.texts.placed_results import is_placed_elsewhere
from torchdevlint.flow.programs.texts.read_by_host import are_read_by_host
from torchdevlint.flow.programs.texts.unplaced_loads import saving_with_devices
from torchdevlint.flow.scope.call_sites import are_moved_at_once, call_sites, own_call_sites
from torchdevlint.flow.scope.cuda_literals import Scope, is_of_own_weight
from torchdevlint.flow.scope.cuda_programs import begins_on_gpu, sends_to_cuda
from torchdevlint.flow.scope.default_changes import changes_default, is_change_of_default
from torchdevlint.flow.scope.programs import is_program, mentions_accelerators, names_accelerators, without_comments
from torchdevlint.flow.scope.rendezvous import (
    LAUNCHING,
    counts_machines,
    is_launched_alone,
    meets_on_this_machine,
    starts_a_group,
)
from torchdevlint.patterns import LinePattern
from torchdevlint.project.missing import cannot_be_imported
from torchdevlint.project.modules import ModuleFile, ModuleText
from torchdevlint.project.packaging import has_users, is_application
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in
from torchdevlint.source.notebook import NOTEBOOK

_STARTED = LinePattern(r"__main__|\bargparse\b|\bparse_args\(", "__main__ argparse parse_args(")
"""What a file says that is started from outside, be it only to try what it defines."""
_FEWEST_OTHERS = 4
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
        if isinstance(fact, MixedDevices) and (self._is_moved_by_callers(fact) or self._is_moved_by_owners(fact)):
            return False
        if fact.at.file or not self.is_one:
            return True
        if isinstance(fact, ReadOnHost) and fact.by_users:
            return False
        if self.cannot_be_imported or has_part_in(fact, lambda at: self.mentions.is_never_read(at.row)):
            return False
        if isinstance(fact, IgnoresGivenDevice):
            return not self._is_current_gpu(fact)
        if isinstance(fact, DeviceNumber):
            return self.choice.chooses or not self.choice.cuda
        if isinstance(fact, (MixedDevices, ReadOnHost)):
            return not self.is_of_cpu
        if isinstance(fact, CheckpointLoad):
            is_of_cpu = self.knows_no_device and self._project is not None and not saving_with_devices(self._project)
            return not is_of_cpu and (not self._needs_current_gpu or self.choice.processes)
        return True

    def _is_current_gpu(self, fact: IgnoresGivenDevice) -> bool:
        """Whether the GPU that is named is the one that all is on, wherever the place is come to."""
        if self._begins_on_gpu:
            return True
        if fact.kind == "question":
            return self.choice.is_current_gpu
        if fact.asks:
            return self.choice.takes_current_gpu and not is_of_own_weight(fact.given)
        return self._needs_current_gpu

    @cached_property
    def _needs_current_gpu(self) -> bool:
        """Whether no program that comes here runs without CUDA, and all is on one GPU.

        A program that sends something to CUDA whatever happens needs it, even if a helper that it imports asks for it.
        """
        if self.choice.needs_current_gpu:
            return True
        if self.leading.chooses or self.choice.offers or not self.choice.is_current_gpu:
            return False
        programs = self.leading_programs
        return bool(programs) and all(map(sends_to_cuda, programs))

    def _is_moved_by_owners(self, fact: MixedDevices) -> bool:
        """Whether what stayed is a Module that an object keeps, and another file moves it, by its name."""
        return not fact.creations and not fact.at.file and self._callers.move_attribute(fact.stayed.text)

    def _is_moved_by_callers(self, fact: MixedDevices) -> bool:
        """Whether the operands only meet in what a function returns, which all that call it move, or read on the host.

        What is private is called in its own file, and so is what a program defines that nobody imports.
        """
        if fact.operation == FIRST_STATE and self._project is not None:
            return is_placed_elsewhere(fact.scope.rpartition(".")[2], self._project)
        if fact.operation not in (RETURN, ANOTHER_RETURN, ANOTHER_ARM, SIZED_ALIKE, TYPED_ALIKE):
            return False
        functions = (each for each in self._tree.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
        function = next((each for each in functions if each.name == fact.scope), None)
        if function is None:
            return False
        if function.name.startswith("_") or (is_program(self._tree) and not self._callers.importers()):
            sites = own_call_sites(self._tree, function)
        else:
            sites = call_sites(self._tree, function, self._project) if self._project is not None else []
        return bool(sites) and (are_moved_at_once(sites) or are_read_by_host(sites))

    @cached_property
    def _begins_on_gpu(self) -> bool:
        """Whether all programs that come here say first which GPU is the current one."""
        return bool(self.leading_programs) and all(map(begins_on_gpu, self.leading_programs))

    @cached_property
    def meets_on_one_machine(self) -> bool:
        """Whether those programs that come here and have several processes let them meet where only one machine can."""
        own = [self._project.path] if self._project is not None and is_program(self._tree) else []
        programs = [(path, self._tree) for path in own] + [(each.path, each.tree) for each in self.importing_programs]
        starting = [each for each in programs if starts_a_group(each[1])]
        alone = (meets_on_this_machine(tree) or self._is_standalone(path, tree) for path, tree in starting)
        return bool(starting) and all(alone)

    def _is_standalone(self, program: str, tree: ast.Module) -> bool:
        """Whether it is written down how a program is launched, and always for one machine alone.

        A program that counts the GPUs of several machines is meant for them, whatever number a script says.
        """
        assert self._project is not None
        name, by_number = PurePath(program), not (counts_machines(tree) or counts_machines(self._tree))
        said = [self._project.saying((name.stem, each), beside_code=True) for each in LAUNCHING]
        paths = dict.fromkeys(path for found in said for path in found or ())
        texts = [text.text for path in paths if (text := self._project.text_of(path)) is not None]
        return bool(texts) and all(is_launched_alone(each, name.name, by_number) for each in texts)

    @cached_property
    def leading_programs(self) -> list[ast.Module]:
        """The programs that come here."""
        own = [self._tree] if is_program(self._tree) else []
        return own + [each.tree for each in self.importing_programs]

    @cached_property
    def importing_programs(self) -> list[ModuleFile]:
        """The programs that import the file, directly or not."""
        return [each for each in self._callers.parsed(self._callers.importers()) if is_program(each.tree)]

    def is_on_default_device(self, fact: Fact) -> bool:
        """Whether all is where a factory makes it: the programs set the default device, or the library works on it."""
        return self._sets_default_device or is_of_default_library(self._tree, self._project, fact)

    @cached_property
    def _sets_default_device(self) -> bool:
        """Whether each file that is started, and leads to this one, sets the default device itself or on its way, or
        calls what does so, be it a launcher that is given the function to run.
        """
        if not (self.has_no_users and self.is_of_several):
            return False
        last = [each for each in self._callers.importers() if not self._callers.is_imported(each)]
        started = [each for each in self._callers.parsed(last) if any(map(_is_run, each.tree.body))]
        return bool(started) and all(map(self._is_setting_default, started))

    def _is_setting_default(self, program: ModuleFile) -> bool:
        assert self._project is not None
        paths = self._project.import_closure([program.path], _MOST_FILES) or [program.path]
        on_the_way = (each for each in self._callers.importers() if each.path in paths)
        changing = (each for each in on_the_way if any(map(each.text.__contains__, torch_api.CHANGES_DEFAULT)))
        if any(changes_default(each.tree) for each in self._callers.parsed(changing)):
            return True
        ways = Ways(self._project, lambda _, call: is_change_of_default(call), switched=True)
        return ways.are_so_in(Scope(program, self._project), top_level(program.tree))

    @cached_property
    def is_one(self) -> bool:
        """Whether nothing installs it, and it is run, or run by what imports it."""
        return self._project is not None and is_application(self._project) and self.is_run

    @cached_property
    def has_no_users(self) -> bool:
        """Whether nobody uses the project but by its own programs."""
        return self._project is not None and not has_users(self._project)

    @cached_property
    def is_run(self) -> bool:
        """Whether it is a program, or what imports it is; what has a few files has hardly been begun."""
        if self._project is None or not self.is_among_others:
            return False
        importers = self._callers.importers()
        if any(each.endswith(NOTEBOOK) for each in (self._project.path, *(each.path for each in importers))):
            return True
        if _STARTED.is_in(self._text) or any(each.says(_STARTED) for each in importers):
            return True
        return is_program(self._tree) or any(is_program(each.tree) for each in self._callers.parsed(importers))

    @cached_property
    def has_others(self) -> bool:
        """Whether the file has to do with others of its project: it imports one, or one imports it.

        What lies beside it says nothing of it otherwise: it may be one of many that go by themselves.
        """
        if self._project is None:
            return False
        return bool(self._callers.importers()) or next(self._project.imported(self._project.path), None) is not None

    @property
    def is_among_others(self) -> bool:
        """Whether the file has to do with others of a project that is more than begun."""
        return self.is_of_several and self.has_others

    @cached_property
    def is_of_several(self) -> bool:
        """Whether the project has other files, or notebooks, and so many that it is more than begun."""
        others = (None if self._project is None else self._project.saying(())) or ()
        if self._project is not None and len(others) < _FEWEST_OTHERS:
            beside = self._project.saying((), beside_code=True) or ()
            others += tuple(each for each in beside if each.endswith(NOTEBOOK))
        return len(others) >= _FEWEST_OTHERS

    @cached_property
    def cannot_be_imported(self) -> bool:
        """Whether the file ends at an import from its own project."""
        assert self._project is not None
        return cannot_be_imported(self._tree, self._project)

    @cached_property
    def is_of_cpu(self) -> bool:
        """Whether the programs that come here have nothing to do with accelerators, nor what they import.

        A notebook or a configuration that names the file may have.
        """
        assert self._project is not None
        imported = None if self._mentions_accelerators else self._imported_code()
        if imported is None or any(map(mentions_accelerators, imported)):
            return False
        return self._project.saying((PurePath(self._project.path).stem,), beside_code=True) == ()

    @cached_property
    def _mentions_accelerators(self) -> bool:
        """Whether the code of this file, or of those that lead to it, has to do with accelerators."""
        own = "" if self._project is None else self._project.path
        texts = [(self._text, own), *((each.text, each.path) for each in self._callers.importers())]
        return any(mentions_accelerators(self._code(*each)) for each in texts)

    @cached_property
    def knows_no_device(self) -> bool:
        """Whether the programs that come here know no device, and what they import names no accelerator."""
        imported = None if self._mentions_accelerators else self._imported_code()
        if imported is None or any(map(names_accelerators, imported)):
            return False
        return is_program(self._tree) or self.is_of_cpu

    @cached_property
    def programs(self) -> Programs | None:
        """What leads to the file, where all programs of its project are there to be read."""
        own = self._callers.own if self.has_no_users and self.is_of_several else None
        return None if own is None or self._project is None else Programs(own, self._project, self._callers)

    @cached_property
    def mentions(self) -> Mentions:
        assert self._project is not None
        return Mentions(self._tree, self._project, self._callers.importers())

    @cached_property
    def choice(self) -> GpuChoice:
        """What this file and those that lead to it say together, where nothing that they import says another thing."""
        imported = self._imported()
        if imported is None:
            return UNKNOWN
        return self.leading | offered_choice(imported)

    @cached_property
    def leading(self) -> GpuChoice:
        """What this file and those that lead to it say."""
        return gpu_choice([self._text, *(each.text for each in self._callers.importers())])

    @cached_property
    def is_for_cuda(self) -> bool:
        """Whether this file, those that lead to it, and what these import, hardly choose a device beside CUDA.

        A file that only chooses is right by itself, whatever the others do.
        """
        own = named_in([self._tree])
        imported = self._imported_files() if own.cuda or not own.chosen else None
        if imported is None:
            return False
        files = self._callers.parsed([*self._callers.importers(), *imported])
        return named_in([self._tree, *(each.tree for each in files)]).is_for_cuda

    def _imported(self) -> list[str] | None:
        """The texts of what this file and those that lead to it import; None for more than can be told."""
        found = self._imported_files()
        return None if found is None else [each.text for each in found]

    def _imported_code(self) -> list[str] | None:
        """The code of the same files, without their trainers."""
        found = self._imported_files()
        return None if found is None else [self._code(each.text, each.path) for each in found]

    def _code(self, text: str, path: str) -> str:
        code = without_comments(text)
        return code if self._project is None else without_own_trainers(code, path, self._project)

    def _imported_files(self) -> list[ModuleText] | None:
        assert self._project is not None
        own = [self._project.path, *(each.path for each in self._callers.importers())]
        paths = self._project.import_closure(own, _MOST_FILES)
        if paths is None:
            return None
        texts = (self._project.text_of(path) for path in paths if path not in own)
        return [each for each in texts if each is not None]


def _is_run(statement: ast.stmt) -> bool:
    """Whether a statement of the top level does something by itself: it is no definition, and calls something."""
    return not isinstance(statement, _DEFINITIONS) and any(True for _ in nodes_in(statement, ast.Call))
