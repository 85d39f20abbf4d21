"""Files that a project writes and that none of its code fills a model from: nobody meets the names of their keys."""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.checkpoints import WrappedStateDict
from torchdevlint.patterns import regex
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project

_FILLING = ("load_state_dict", "load_from_checkpoint", "load_checkpoint", "resume_from")
_FETCHING = "from_pretrained"
_OF_THE_HUB = regex(r"""from_pretrained\(\s*\\?["']([\w-][\w.-]*)(?:/[\w.-]+)?\\?["']""")
"""A name of the hub as it is written down, in a notebook too, where what is before the slash may be a folder."""


def is_read_by_nobody(fact: WrappedStateDict, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a state dict is written with a prefix, and nothing of its project says a word of filling a model.

    What is fetched from the hub, by a name that is written down, is filled from there.
    """
    if own is None or project is None or fact.direction != "save" or any(each in own.source.text for each in _FILLING):
        return False
    if any(project.saying((each,), beside) != () for each in _FILLING for beside in (False, True)):
        return False
    texts = list(_fetching(own, project))
    return None not in texts and all(_only_from_hub(each, own.source.text) for each in texts if each is not None)


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
