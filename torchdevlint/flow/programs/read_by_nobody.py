"""Files that a project writes and that none of its code fills a model from: nobody meets the names of their keys."""

from __future__ import annotations

from torchdevlint.flow.facts.checkpoints import WrappedStateDict
from torchdevlint.project.modules import ModuleFile
from torchdevlint.project.uses import Project

_FILLING = ("load_state_dict", "load_from_checkpoint", "load_checkpoint", "resume_from", "from_pretrained")


def is_read_by_nobody(fact: WrappedStateDict, own: ModuleFile | None, project: Project | None) -> bool:
    """Whether a state dict is written with a prefix, and nothing of its project says a word of filling a model."""
    if own is None or project is None or fact.direction != "save" or any(each in own.source.text for each in _FILLING):
        return False
    return all(project.saying((each,), beside) == () for each in _FILLING for beside in (False, True))
