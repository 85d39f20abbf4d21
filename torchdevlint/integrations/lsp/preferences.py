"""The settings of an editor. None of them says what is found: that is a matter of the configuration of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, ValidationError, convert
from msgspec.structs import fields

from torchdevlint.config import nearest

SECTION = "torchdevlint"
"""The name of the settings among those of an editor."""


class InlayHints(Struct, frozen=True, rename="camel"):
    """`enable`: show the device behind an assignment of which it is known."""

    enable: bool = False


class Preferences(Struct, frozen=True, rename="camel"):
    """`diagnostic_mode`: what an editor is told of that asks for findings of its workspace.

    `fix_on_save`: apply safe fixes when an editor says that it is about to save. `log_level`: what is written to
    standard error.
    """

    fix_on_save: bool = False
    inlay_hints: InlayHints = InlayHints()
    log_level: Literal["error", "warning", "info", "debug"] = "error"
    diagnostic_mode: Literal["openFilesOnly", "workspace"] = "openFilesOnly"


class PreferenceError(ValueError):
    """Settings that cannot be used; the message is a sentence for the user."""


def preferences(sent: object) -> Preferences:
    """The settings that an editor sends, alone or under the name of this tool. Raises PreferenceError."""
    if isinstance(sent, Mapping) and SECTION in sent:
        sent = sent[SECTION]
    if not isinstance(sent, Mapping):
        return Preferences()
    _check_names(sent, Preferences, "")
    try:
        return convert(dict(sent), Preferences)
    except ValidationError as error:
        raise PreferenceError(f"the editor's settings for torchdevlint: {error}") from None


def _check_names(sent: Mapping[Any, Any], record: type[Struct], before: str) -> None:
    known = {each.encode_name: each.type for each in fields(record)}
    for name, value in sent.items():
        if name not in known:
            better = nearest(str(name), known)
            raise PreferenceError(f"torchdevlint has no setting `{before}{name}`; did you mean `{before}{better}`?")
        if isinstance(value, Mapping) and isinstance(known[name], type) and issubclass(known[name], Struct):
            _check_names(value, known[name], f"{before}{name}.")
