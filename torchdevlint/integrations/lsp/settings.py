"""Settings of an editor: asked for where it answers, else as it sends them. And the files that it tells of."""

from __future__ import annotations

import logging

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from torchdevlint.discover import SUFFIXES
from torchdevlint.integrations.lsp.preferences import SECTION, PreferenceError, preferences
from torchdevlint.integrations.lsp.session import Session

_ABOUT = "settings"


def at_the_start(session: Session, sent: object) -> None:
    """Take the settings that come with the first request."""
    _take(session, sent)


async def ask(server: LanguageServer, session: Session) -> None:
    """Ask for the settings, if the client answers that; those that it has none for stay as they are."""
    if not session.client.configures:
        return
    item = types.ConfigurationItem(section=SECTION)
    try:
        (sent,) = await server.workspace_configuration_async(types.ConfigurationParams([item]))
    except (JsonRpcException, ValueError):
        return
    if sent:
        _take(session, sent)


async def changed(server: LanguageServer, session: Session, sent: object) -> None:
    """Settings have changed, and may have been sent along."""
    before = session.preferences
    if session.client.configures:
        await ask(server, session)
    else:
        _take(session, sent)
    if session.preferences != before:
        session.schedule_all()


async def watch(server: LanguageServer, session: Session) -> None:
    """Ask to be told of settings, and of files that findings in other files depend on: modules and configurations.

    A configuration that others extend may have any name.
    """
    wanted = []
    if session.client.watches:
        globs = [f"**/*{suffix}" for suffix in (*SUFFIXES, ".toml")]
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(glob) for glob in globs])
        wanted.append(types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if session.client.configures_later:
        section = types.DidChangeConfigurationRegistrationOptions(SECTION)
        wanted.append(types.Registration("settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if wanted:
        await server.client_register_capability_async(types.RegistrationParams(wanted))


def _take(session: Session, sent: object) -> None:
    """Use settings; those that cannot be used are told of, and change nothing."""
    try:
        session.preferences = preferences(sent)
    except PreferenceError as error:
        session.say(_ABOUT, (str(error),))
        return
    session.say(_ABOUT, ())
    level = session.preferences.log_level
    logging.getLogger("torchdevlint").setLevel(level.upper())
    logging.getLogger("pygls").setLevel(logging.DEBUG if level == "debug" else logging.CRITICAL)
