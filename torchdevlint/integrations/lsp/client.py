"""What a client says that it can do, as far as the server asks."""

from __future__ import annotations

from typing import Any

from lsprotocol import types
from msgspec import Struct


class Client(Struct, frozen=True):
    """Abilities of a client; without any, it is one that only shows what it is sent.

    `pulls`: it asks for findings when it wants them, and is not sent those of documents. `resolves`: it asks for the
    edit of an action when the user has chosen it. `versioned_edits`: an edit may name the version that it is for.
    `configures`: it answers when it is asked for settings. `watches`: it tells of files that change, if asked to, and
    `configures_later` of settings. `refreshes` and `refreshes_hints`: it asks anew if it is told to.
    """

    pulls: bool = False
    resolves: bool = False
    versioned_edits: bool = False
    configures: bool = False
    configures_later: bool = False
    watches: bool = False
    refreshes: bool = False
    refreshes_hints: bool = False


def client_of(capabilities: types.ClientCapabilities) -> Client:
    def said(path: str) -> Any:
        found: Any = capabilities
        for name in path.split("."):
            found = getattr(found, name, None)
        return found

    return Client(
        pulls=said("text_document.diagnostic") is not None,
        resolves="edit" in (said("text_document.code_action.resolve_support.properties") or ()),
        versioned_edits=bool(said("workspace.workspace_edit.document_changes")),
        configures=bool(said("workspace.configuration")),
        configures_later=bool(said("workspace.did_change_configuration.dynamic_registration")),
        watches=bool(said("workspace.did_change_watched_files.dynamic_registration")),
        refreshes=bool(said("workspace.diagnostics.refresh_support")),
        refreshes_hints=bool(said("workspace.inlay_hint.refresh_support")),
    )
