"""Which files of a project their authors have put aside: what is in a folder called ``old`` or ``backup of nets``."""

from __future__ import annotations

from torchdevlint.patterns import regex

_FOLDER = regex(
    r"_*(?:old|archived?|legacy|depr(?:[ei]cated)?|obsolete|backups?|bak|bk|unused|outdated|attic|graveyard|trash|previous)"
    r"(?:[_-]?(?:code|codes|scripts?|src|files?|versions?|stuff|models?|experiments?))?_*"
    r"|(?:backups?|back|bak|copy|copies)[ _-]?of\b.*|.*[ _.-](?:backups?|bak|old)",
)


def is_put_aside(path: str) -> bool:
    """Whether a folder on the path from the root of the project, with ``/``, says that its files are of the past."""
    return any(_FOLDER.fullmatch(each.lower()) for each in path.split("/")[:-1])
