"""Loads of an application that are far from all that has to do with devices.

What is loaded hurts where a program may run without the accelerator that wrote the file: one that chooses a device.
Both criteria were found on seven judged draws of research code: nobody would have acted on any of the 21 loads that
they make advice there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from torchdevlint.flow.checks.loads.file_names import Place, file_names, scopes_of
from torchdevlint.flow.checks.loads.telling_names import may_be_equal
from torchdevlint.flow.checks.loads.writers import writes_in
from torchdevlint.flow.facts.checkpoints import CheckpointLoad
from torchdevlint.flow.facts.common import Fact
from torchdevlint.flow.programs.texts.cuda_habit import Named, named_in
from torchdevlint.flow.programs.texts.gpu_choice import gpu_choice
from torchdevlint.flow.scope.programs import mentions_accelerators, without_comments
from torchdevlint.patterns import LinePattern, regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project

_SAVES = LinePattern(r"\btorch\.save\(|\bfrom +torch(?:\.serialization)? +import\b.*\bsave\b", "save")
_RENAMED = regex(r"\bimport +torch +as +(\w+)")
_GIVEN = ("sys.argv", "parse_args(", "parse_known_args(", "import click", "import fire", "import typer")
"""How a file says that whoever starts it tells it what to read."""
_MOST_FILES = 120
"""Where more files save something, nobody is asked what they choose."""


def is_of_ranks(fact: Fact) -> bool:
    """Whether each GPU has a process, all of which read a file to the first one, and keep it for a while."""
    return isinstance(fact, CheckpointLoad) and fact.rank_code and not fact.of_weights


def is_read_apart(
    fact: CheckpointLoad,
    load: ast.expr | None,
    own: ModuleFile | None,
    files: Sequence[ModuleFile],
    project: Project | None,
) -> bool:
    """Whether a load is far from all that has to do with devices.

    `files` are the one of the load, `own`, and those on the ways from programs to it. It is not far where a file that
    chooses a device writes one of that name, nor in a tool that reads whatever file it is given.
    """
    if own is None or project is None or not files or not isinstance(load, ast.Call) or is_of_ranks(fact):
        return False
    read = _names_of(own, load, project)
    if not read and any(each in own.source.text for each in _GIVEN):
        return False
    is_chosen = gpu_choice(each.source.text for each in files).chooses
    knows_none = _knows_no_devices(fact, own)
    if is_chosen and not knows_none:
        return False
    saving = list(_saving(project, lambda text: gpu_choice([text]).chooses))
    is_far = bool(saving) or (knows_none and (is_chosen or _saves_anything(project)))
    return is_far and not any(_writes(each, read) for each in saving)


def saving_with_devices(project: Project) -> list[ModuleFile]:
    """The files of a project that save something and speak of accelerators."""
    return list(_saving(project, lambda text: mentions_accelerators(without_comments(text))))


def is_written_by_what_knows_devices(load: ast.expr | None, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a file that speaks of accelerators saves what a load may read: under its name, or that is told outside.

    Otherwise those that wrote what a program without a device reads knew none either: they are of the same project.
    """
    if own is None or project is None or not isinstance(load, ast.Call):
        return False
    read, saving = _names_of(own, load, project), saving_with_devices(project)
    if not read:
        return bool(saving) and any(each in own.source.text for each in _GIVEN)
    return any(_writes(each, read) for each in saving)


def _knows_no_devices(fact: CheckpointLoad, own: ModuleFile) -> bool:
    """Whether a file places nothing, asks for no device and saves nothing, and what it loads fills no model at once."""
    text = own.source.text
    if fact.only_state_dict or _saves(text) or gpu_choice([text]).chooses:
        return False
    return named_in([own.tree]) == Named()


def _saves(text: str) -> bool:
    """Whether the text of a file speaks of `torch.save`, by what it has imported of torch."""
    renamed = _RENAMED.search(text)
    return _SAVES.is_in(text) or (renamed is not None and f"{renamed[1]}.save(" in text)


def _saves_anything(project: Project) -> bool:
    """Whether a file of the project saves something; else what it reads comes from elsewhere."""
    paths = project.saying(("save",)) or ()
    return any((text := project.text_of(path)) is not None and _saves(text.text) for path in paths)


def _saving(project: Project, is_so: Callable[[str], bool]) -> Iterator[ModuleFile]:
    """The files of a project that save something, and of whose text something is so; none where these are too many."""
    paths = project.saying(("save",))
    for path in paths if paths is not None and len(paths) <= _MOST_FILES else ():
        text = project.text_of(path)
        if text is not None and _saves(text.text) and is_so(text.text):
            module = project.module(path)
            if module is not None:
                yield module


def _names_of(own: ModuleFile, load: ast.Call, project: Project) -> list[str]:
    """The names that the file which is read may have, as far as they are written down."""
    at = Place(scopes_of(own.tree, load), own.path, project)
    return [each for path in load.args[:1] for each in file_names(at, path) if each is not None]


def _writes(writer: ModuleFile, read: list[str]) -> bool:
    """Whether a file writes one of some names."""
    written = (each for _, names in writes_in(writer.tree) for each in names if each is not None)
    return any(may_be_equal(one, other) for one in written for other in read)
