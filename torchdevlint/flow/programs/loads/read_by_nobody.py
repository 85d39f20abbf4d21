"""Files that a project writes and that none of its code fills a model from: nobody meets the names of their keys."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchdevlint.flow.checks.loads.file_names import Place, Texts, file_names, scopes_of
from torchdevlint.flow.checks.loads.telling_names import may_be_equal
from torchdevlint.flow.facts.checkpoints import WrappedStateDict
from torchdevlint.flow.programs.loads.read_by_wrapped import is_filling, is_read_by_wrapped, save_of, source_of
from torchdevlint.flow.scope.names import last_name, public_path
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project
from torchdevlint.source.nodes import nodes_in

_FILLING = "load_state_dict"
_FILLING_OUTSIDE = ("load_from_checkpoint", "load_checkpoint", "resume_from", "checkpoint_path=")
"""How libraries fill models from files."""
_FETCHING = "from_pretrained"
_OF_THE_HUB = regex(r"""from_pretrained\(\s*\\?["']([\w-][\w.-]*)(?:/[\w.-]+)?\\?["']""")
"""A name of the hub as it is written down, in a notebook too, where what is before the slash may be a folder."""
_STATES = frozenset("state_dict deepcopy copy dict OrderedDict load load_url load_state_dict_from_url".split())
"""Calls that give a state which is no file of the project's own, or that are asked by themselves."""
_OF_OTHER_FILES = frozenset(
    "json.load pickle.load numpy.load yaml.load joblib.load torch.jit.load torch.hub.load torchaudio.load librosa.load"
    " nibabel.load toml.load tomllib.load torch.utils.cpp_extension.load".split()
)
"""Functions that read none of those which `torch.save` writes."""
_MOST_FILES = 40


def has_no_reader_without(fact: WrappedStateDict, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether nothing of its project fills a model without the wrapper from a file with the prefix of one."""
    return _is_read_by_nobody(fact, own, project) or is_read_by_wrapped(fact, own, project)


def _is_read_by_nobody(fact: WrappedStateDict, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a state dict is written with a prefix, and nothing of its project may fill a model from that file.

    What is fetched from the hub, by a name that is written down, is filled from there; what `torch.load` reads under
    another name from another file.
    """
    if own is None or project is None or fact.direction != "save":
        return False
    if any(each in own.source.text or _is_said(each, project) for each in _FILLING_OUTSIDE):
        return False
    texts = list(_fetching(own, project))
    if None in texts or not all(_only_from_hub(each, own.source.text) for each in texts if each is not None):
        return False
    if _FILLING not in own.source.text and not _is_said(_FILLING, project):
        return True
    if project.saying((_FILLING,), True) != ():
        return False
    save = save_of(fact, own)
    return save is not None and not _is_read(own, project, save)


def _is_said(word: str, project: Project) -> bool:
    """Whether another file of the project says a word, or may."""
    return any(project.saying((word,), beside) != () for beside in (False, True))


def _fetching(own: ModuleFile, project: Project) -> Iterator[str | None]:
    """The texts that say a word of what is fetched; None where they are not known."""
    yield own.source.text
    for beside in (False, True):
        paths = project.saying((_FETCHING,), beside)
        for path in (None,) if paths is None else paths:
            text = None if path is None else project.text_of(path)
            yield None if text is None else text.text


def _only_from_hub(text: str, writing: str) -> bool:
    """Whether all that a text fetches has a name of the hub, which the file that saves does not say."""
    names = _OF_THE_HUB.findall(text)
    return len(names) == text.count(_FETCHING) and not any(each in writing for each in names)


def _is_read(own: ModuleFile, project: Project, save: ast.Call) -> bool:
    """Whether some file of the project may read what a call saves."""
    reading, filling = project.saying(("torch", "load")), project.saying((_FILLING,))
    if reading is None or filling is None or project.saying(("torch", "load"), True) != ():
        return True
    paths = dict.fromkeys((*reading, *filling))
    written = _names(own, project, save, 1)
    files = [own, *map(project.module, paths)] if len(paths) <= _MOST_FILES else [None]
    return any(each is None or _may_read(each, project, written) for each in files)


def _names(file: ModuleFile, project: Project, call: ast.Call, at: int) -> Texts:
    place = Place(scopes_of(file.tree, call), file.path, project)
    return file_names(place, call.args[at], ends=True, whole=True) if len(call.args) > at else (None,)


def _may_read(file: ModuleFile, project: Project, written: Texts) -> bool:
    """Whether a file reads one of some names, or what is not known, or hands the function on that does."""
    called: set[int] = set()
    for call in nodes_in(file.tree, ast.Call):
        called.add(id(call.func))
        if is_filling(call) and _is_from_elsewhere(file, project, source_of(file, call)[0]):
            return True
        if _is_load(call) and not _reads_otherwise(file, project, call, written):
            return True
    loads = (each for each in nodes_in(file.tree, ast.Attribute) if each.attr == "load" and id(each) not in called)
    return any(public_path(each) == "torch.load" for each in loads)


def _is_load(call: ast.Call) -> bool:
    return last_name(call.func) == "load" or public_path(call.func) == "torch.load"


def _is_from_elsewhere(file: ModuleFile, project: Project, source: ast.Call | None) -> bool:
    """Whether what fills a model is given by a function which the project does not show."""
    name = "" if source is None else last_name(source.func)
    return source is not None and name not in _STATES and not _is_defined(name, file, project)


def _reads_otherwise(file: ModuleFile, project: Project, call: ast.Call, written: Texts) -> bool:
    """Whether a call of what is named so reads another file, or one of another kind, or has a body that is asked."""
    function = public_path(call.func)
    if function == "torch.load":
        read = _names(file, project, call, 0)
        return not any(one is None or other is None or may_be_equal(one, other) for one in read for other in written)
    return function in _OF_OTHER_FILES or _is_defined("load", file, project)


def _is_defined(name: str, file: ModuleFile, project: Project) -> bool:
    """Whether a function of that name is defined in a file or another one of its project."""
    return any(each.name == name for each in nodes_in(file.tree, ast.FunctionDef)) or _is_said(f"def {name}(", project)
