"""Callers in other files: what they give the functions of the file that is analysed.

They are asked for only where a finding rests on an argument that may be anywhere. Then the files of the project that
import this one, directly or through others, and name the function are run as they would be for themselves, and what
their calls give is remembered. A function that nobody calls there is one for users of the project.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice

from msgspec import Struct

from torchdevlint.flow.programs.texts.meant_names import meant
from torchdevlint.flow.programs.texts.overridden import overridden_by
from torchdevlint.flow.programs.texts.public_names import is_name_of_its_own, places_of, public_names
from torchdevlint.flow.scope.imported_accelerators import imports_accelerators
from torchdevlint.flow.scope.names import dotted_path
from torchdevlint.flow.scope.programs import leading_to, mentions_accelerators
from torchdevlint.flow.state.arrivals import Parameter
from torchdevlint.patterns import LinePattern, says_name
from torchdevlint.project.missing import cannot_be_imported, read_first
from torchdevlint.project.modules import ModuleFile, ModuleText, bound_by
from torchdevlint.project.of_tests import is_of_tests
from torchdevlint.project.tree import from_root
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import is_inside, nodes_in
from torchdevlint.source.notebook import NOTEBOOK

MOST_CALLERS = 8
"""How many files are run for one that is analysed; where more name a function, its callers are not known."""
_MOST_IMPORTERS = 200
_MOST_ON_THE_WAY = 40
"""How many files may be on the ways from programs to a function."""
_MOST_FILES_UP = 2
"""Through so many files that hand on what they are given callers are followed."""
_ALL_NAMES = LinePattern(r"\bimport\s*\(?\s*\*", "import")
_MOVING = ("to", "cuda")
_LARGEST = 200_000
"""A file with more characters is not run."""

Given = dict[tuple[str, int, str], tuple[bool | None, bool | tuple[Parameter, ...]]]
"""By the file, line and parameter of a function: whether all calls of a file give it tensors of the CPU, and the
same of what they hand on besides: where that is open, the parameters that they hand on."""


class Leading(Struct, frozen=True):
    """A file on the way to a place, the names of its top level that lead on, and whether its own program does so."""

    file: ModuleFile
    names: frozenset[str]
    runs: bool


class Callers:
    """The callers of the functions of one file.

    `run` analyses another file, as far as it leads to calls by a name, and gives what its calls give.
    """

    def __init__(
        self,
        tree: ast.Module,
        project: Project | None,
        run: Callable[[ModuleFile, Project, str], Given],
        files_up: int = _MOST_FILES_UP,
    ) -> None:
        self._files_up = files_up
        self._callers_of: dict[str, Callers] = {}
        self._tree = tree
        self._project = project
        self._run = run
        self._asked: list[Project] = []
        self._given: dict[tuple[str, str], Given] = {}
        self._importers: list[ModuleText] | None = None
        self._importing_of: dict[str, list[ModuleText]] = {}
        self._ways: dict[frozenset[str], list[Leading]] = {}
        self._ending: dict[str, bool] = {}
        self._of_programs: dict[frozenset[str], bool] = {}
        """Whether only programs come to what a statement of the top level binds, by those names."""

    def give_cpu(self, function: ast.AST, argument: str) -> bool:
        """Whether others call a function, and what they give a parameter is on the CPU in all calls that are known.

        So it is where only programs come to the function, and nothing on the way has to do with accelerators.
        """
        if self._project is None or self._project.path.endswith(".ipynb"):
            return False
        around = next((each for each in self._tree.body if function is each or is_inside(function, each)), None)
        names = frozenset(() if around is None else bound_by(around))
        if names not in self._of_programs:
            own = self._project.library.get(self._project.path) if names else None
            self._of_programs[names] = own is not None and self._only_programs_come_to(own, names, {own.path})
        if self._of_programs[names]:
            return True
        known = self._given_to(function, argument)
        if not known and self.own is not None:
            above = overridden_by(function, argument, self.own, self._asking())
            known = next(filter(None, (self._at(file)._given_to(method, name) for file, method, name in above)), [])
        return bool(known) and all(known)

    def _given_to(self, function: ast.AST, argument: str) -> list[bool]:
        """Whether tensors of the CPU are given to a parameter, for each file whose calls tell it."""
        name = public_names(self._tree).get(function)
        naming = [] if name is None else self.parsed(self._naming(self.importers(), frozenset({name})))
        if name is None or self._project is None or len(naming) > MOST_CALLERS:
            return []

        def told(*places: tuple[str, int, str]) -> list[bool]:
            given = (self._told(file, name, each) for each in places for file in naming)
            return [each for each in given if each is not None]

        known = told((self._project.path, function.lineno, argument))  # type: ignore[attr-defined]
        by_name = not known and is_name_of_its_own(function, name, self._asking())
        return told(*places_of(function, argument)) if by_name else known

    def place(self, function: ast.AST, argument: str) -> bool:
        """Whether a call that was looked at gives a parameter something that is neither on the CPU nor an argument."""
        if self._project is None:
            return False
        here = self._project.path, getattr(function, "lineno", 0), argument
        return any(given[here][1] is False for given in self._given.values() if here in given)

    def give_attribute(self, name: str) -> bool:
        """Whether those who import the file give an object an attribute of this name: ``policy.device = device``.

        So does a class that is derived from one of this file, for itself.
        """
        given = re.compile(rf"^[ \t]*(?!self\.\w+[ \t]*=)[\w.\[\]]+\.{re.escape(name)}[ \t]*=(?!=)", re.MULTILINE)
        own = re.compile(rf"\bself\.{re.escape(name)}[ \t]*(?::[^=\n]+)?=(?!=)|\bdef {re.escape(name)}\(")
        names = "|".join(re.escape(each.name) for each in self._tree.body if isinstance(each, ast.ClassDef))
        derived = re.compile(rf"^[ \t]*class \w+\([^)]*\b(?:{names})\b", re.MULTILINE)
        texts = [each.text for each in self.importers()]
        return any(given.search(each) or (names and derived.search(each) and own.search(each)) for each in texts)

    def move_attribute(self, path: str) -> bool:
        """Whether those who import the file move a Module that an object keeps so: ``config.model.to(device)``.

        What they keep themselves under the name, as ``self.model``, is another one.
        """
        root, _, name = path.rpartition(".")
        if self._project is None or root != "self":
            return False
        files = self.parsed(self._naming(self.importers(), frozenset({name})))
        calls = (each.func for file in files for each in nodes_in(file.tree, ast.Call))
        moved = (each.value for each in calls if isinstance(each, ast.Attribute) and each.attr in _MOVING)
        return any(
            isinstance(each, ast.Attribute) and each.attr == name and dotted_path(each) != path for each in moved
        )

    def _told(self, file: ModuleFile, name: str, parameter: tuple[str, int, str]) -> bool | None:
        """Whether all calls in a file give a parameter tensors of the CPU, or hand such on; None where nobody knows."""
        given, handed_on = self._given_by(file, name).get(parameter, (None, False))
        if handed_on is True or not handed_on:
            return handed_on is True or given
        return all(self._give_cpu_up(file, *each) for each in handed_on) or given

    def _give_cpu_up(self, file: ModuleFile, function: ast.AST, argument: str) -> bool:
        """`give_cpu` of a function of a file that calls one of this file."""
        return self._files_up > 0 and self._at(file).give_cpu(function, argument)

    def _at(self, file: ModuleFile) -> Callers:
        """The callers of the functions of another file."""
        assert self._project is not None
        if file.path == self._project.path:
            return self
        if file.path not in self._callers_of:
            project = Project(file.path, self._project.library)
            self._callers_of[file.path] = Callers(file.tree, project, self._run, max(self._files_up - 1, 0))
        return self._callers_of[file.path]

    def _only_programs_come_to(self, file: ModuleFile, names: frozenset[str], seen: set[str]) -> bool:
        """Whether all that leads to names of a file begins in programs, and nothing on the way speaks of accelerators.

        What nobody imports and no program of its own runs is for users of the project.
        """
        if mentions_accelerators(file.source.text) or imports_accelerators(file, self._asking()):
            return False
        names, runs = leading_to(file.tree, names)
        texts = [each for each in self._importing(file.path) if each.path not in seen]
        naming = self.parsed(self._naming(texts, names))
        seen.update(each.path for each in naming)
        if not naming or len(seen) > _MOST_ON_THE_WAY:
            return runs and not naming
        return all(self._only_programs_come_to(each, names, seen) for each in naming)

    @staticmethod
    def _naming(files: Iterable[ModuleText], names: frozenset[str]) -> list[ModuleText]:
        """Those of the files that say one of these names."""
        return [each for each in files if not names or any(says_name(each.text, name) for name in names)]

    def programs_for(self, names: frozenset[str]) -> tuple[list[ModuleFile], list[ModuleFile]]:
        """The programs, here and in other files, that come to what goes by `names` at the top level of this file.

        And all files on the way. Nothing where these are too many. What is at the top level itself, be it below a main
        guard, goes by no name: whoever starts the file comes there.
        """
        ways = self.ways_to(names)
        found = [each.file for each in ways if each.runs or each.file.path.endswith(NOTEBOOK)]
        own = [each.file for each in ways[:1] if not names and each.file not in found]
        return own + found, [each.file for each in ways]

    @cached_property
    def own(self) -> ModuleFile | None:
        """The file that is analysed, with the tree that the inference runs."""
        held = None if self._project is None else self._project.library.get(self._project.path)
        return None if held is None else ModuleFile(held.path, held.source, self._tree)

    def ways_to(self, names: frozenset[str]) -> list[Leading]:
        """This file and those that lead to what goes by `names` at its top level; nothing where these are too many.

        Facts of one function ask for the same names, and no file changes while one is analysed.
        """
        if names not in self._ways:
            self._ways[names] = self._found_ways(names)
        return self._ways[names]

    def _found_ways(self, names: frozenset[str]) -> list[Leading]:
        if self.own is None:
            return []
        level = [(self.own, names)]
        found: dict[str, Leading] = {}
        while level:
            file, wanted = level.pop(0)
            before = found.get(file.path)
            known, runs = leading_to(file.tree, wanted | (before.names if before is not None else frozenset()))
            found[file.path] = Leading(file, known, runs)
            if len(found) > _MOST_ON_THE_WAY:
                return []
            if before is None or before.names != known:
                for each, said in self._leading_on(file, known) if known else ():
                    is_new = each.path not in found or not said <= found[each.path].names
                    level += [(each, said)] if is_new and not self.ends_at_imports(each) else []
        return list(found.values())

    def _leading_on(self, home: ModuleFile, names: frozenset[str]) -> Iterator[tuple[ModuleFile, frozenset[str]]]:
        """The files that import the file `home`, and the `names` of it that each of them may mean."""
        importing = self._importing(home.path)
        for each in self._handing_all_on(importing, home.path):
            yield each, names
        for each in self.parsed(self._naming(importing, names)):
            if said := meant(names, home, each, self._asking()):
                yield each, said

    def _handing_all_on(self, files: Iterable[ModuleText], home: str) -> list[ModuleFile]:
        """Those of the files that import all names of the one at `home`, which they need not say.

        Nobody imports from a notebook: what it does not say, it does not use.
        """
        stars = self.parsed([each for each in files if each.says(_ALL_NAMES) and not each.path.endswith(NOTEBOOK)])
        locate = self._asking().locate
        return [each for each in stars if any(locate(each.path, *star) == home for star in each.stars)]

    def ends_at_imports(self, file: ModuleFile, hops: int = _MOST_FILES_UP) -> bool:
        """Whether a file asks its project for what is not there, or reads one that does, so that it leads nowhere."""
        if file.path not in self._ending:
            self._ending[file.path] = False
            asked = Project(file.path, self._asking().library)
            self._asked.append(asked)
            self._ending[file.path] = cannot_be_imported(file.tree, asked) or (
                hops > 0 and any(self.ends_at_imports(each, hops - 1) for each in self._read_first(file, asked))
            )
        return self._ending[file.path]

    @staticmethod
    def _read_first(file: ModuleFile, asked: Project) -> Iterator[ModuleFile]:
        for path in read_first(file.tree, asked):
            module = asked.module(path)
            if module is not None:
                yield module

    def parsed(self, files: Iterable[ModuleText]) -> list[ModuleFile]:
        """The files as trees; what cannot be parsed calls nothing."""
        library = self._asking().library
        return [module for each in files if (module := library.get(each.path)) is not None]

    def is_imported(self, file: ModuleFile | ModuleText) -> bool:
        """Whether another file of the project imports a file."""
        return bool(self._importing(file.path))

    def entry_scripts(self) -> Iterator[ast.Module]:
        """The files that import this one, directly or not, and that nobody imports."""
        entries = (each for each in self.importers() if not self._importing(each.path))
        return (module.tree for each in entries for module in self.parsed([each]))

    def keep_what_was_asked(self) -> None:
        """Let the result depend on all that was asked of other files."""
        for callers in self._callers_of.values():
            callers.keep_what_was_asked()
            self._asked += [] if callers._project is None else [callers._project]
        for each in self._asked:
            if self._project is not None:
                self._project.add(each)

    def importers(self) -> list[ModuleText]:
        """The files that import this one, or import one that does; the nearest first. Tests are not among them."""
        if self._importers is None:
            self._importers = list(islice(self._through_imports(), _MOST_IMPORTERS))
        return self._importers

    def _through_imports(self) -> Iterator[ModuleText]:
        if self._project is None:
            return
        seen, level = {self._project.path}, [self._project.path]
        while level:
            found = {each.path: each for home in level for each in self._importing(home) if each.path not in seen}
            seen.update(found)
            level = list(found)
            yield from found.values()

    def _importing(self, home: str) -> list[ModuleText]:
        """The files that import the one at `home`, as far as they can be read; not its tests."""
        found = self._importing_of.get(home)
        if found is None:
            found = self._importing_of[home] = self._read_importers(home)
        return found

    def _read_importers(self, home: str) -> list[ModuleText]:
        asked = self._asking()
        read = {path: asked.text_of(path) for path in asked.importers(home)}
        texts = [each for each in read.values() if each is not None]
        return [each for each in texts if not is_of_tests(from_root(each.path), each.text)]

    def _asking(self) -> Project:
        """What is asked for this file, apart from what its own analysis asks."""
        if not self._asked and self._project is not None:
            self._asked.append(Project(self._project.path, self._project.library))
        return self._asked[0]

    def _given_by(self, file: ModuleFile, name: str) -> Given:
        """What the calls in a file give that lie on the ways to `name`; nothing where that cannot be told."""
        key = file.path, name
        if key not in self._given:
            self._given[key] = self._told_by(file, name)
        return self._given[key]

    def _told_by(self, file: ModuleFile, name: str) -> Given:
        if self._project is None or len(file.source.text) > _LARGEST:
            return {}
        asked = Project(file.path, self._project.library)
        self._asked.append(asked)
        try:
            return self._run(file, asked, name)
        except (RecursionError, MemoryError):
            return {}
