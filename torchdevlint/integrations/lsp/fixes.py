"""What a client can have done: fixes of a place, and of all of a document."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchdevlint.integrations.lsp.actions import FIX_ALL, FIX_NOTEBOOK, KINDS, actions, fix_all, is_wanted
from torchdevlint.integrations.lsp.session import Session


def register(server: LanguageServer, session: Session) -> None:
    """Have the server offer fixes."""
    _offer_actions(server, session)
    _fix_before_saving(server, session)


def _offer_actions(server: LanguageServer, session: Session) -> None:
    options = types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True)

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        current = await session.current(params.text_document.uri)
        if current is None:
            return []
        found = actions(*current, params.range, session.texts.encoding, session.workspace_edit)
        wanted = [each for each in found if is_wanted(each.kind or "", params.context.only)]
        return wanted if session.client.resolves else [await resolved(each) for each in wanted]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolved(action: types.CodeAction) -> types.CodeAction:
        if action.kind in (FIX_ALL, FIX_NOTEBOOK) and action.edit is None:
            current = await session.current(str(action.data))
            if current is not None:
                edits = await session.work(fix_all, current[0], session.texts.encoding)
                session.expect(str(action.data), current[0])
                action.edit = session.workspace_edit(edits)
        return action


def _fix_before_saving(server: LanguageServer, session: Session) -> None:
    @server.feature(types.TEXT_DOCUMENT_WILL_SAVE_WAIT_UNTIL)
    async def will_save(params: types.WillSaveTextDocumentParams) -> list[types.TextEdit] | None:
        """All safe fixes, if the client's settings say so. A notebook is saved without being asked about."""
        uri = params.text_document.uri
        if not session.preferences.fix_on_save or session.texts.unit(uri) != uri:
            return None
        current = await session.current(uri)
        if current is None:
            return None
        edits = await session.work(fix_all, current[0], session.texts.encoding)
        session.expect(uri, current[0])
        return edits.get(uri)
