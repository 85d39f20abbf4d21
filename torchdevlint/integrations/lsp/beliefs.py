"""What is believed, where a client asks for it: under the pointer, and behind assignments.

What is believed of a text takes several times as long as what is found in it. So it is worked out when findings are,
and inlay hints are given at once for all rows but those that were changed since; the client is told to ask again when
there is something newer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchdevlint.integrations.lsp.believed import Believed, told
from torchdevlint.integrations.lsp.document import Page
from torchdevlint.integrations.lsp.findings import page_of_rule
from torchdevlint.integrations.lsp.latest import StaleError
from torchdevlint.integrations.lsp.places import Places, moved, touches
from torchdevlint.integrations.lsp.session import Session
from torchdevlint.integrations.lsp.worker import Urgency
from torchdevlint.model import Belief


def register(server: LanguageServer, session: Session) -> None:
    """Have the server say what is believed."""
    later: dict[str, asyncio.Task[None]] = {}

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        """What the expression there is, and the page of the rule if something was found."""
        uri = params.text_document.uri
        current = await session.current(uri)
        if current is None:
            return None
        linted, page = current
        places, here = Places(page.lines, session.texts.encoding), types.Range(params.position, params.position)
        found = [each for each in linted.findings(page) if touches(places.range(each.span), here)]
        believed = await session.beliefs.of(session.texts.unit(uri), linted.shown)
        row, column = places.place(params.position)
        belief = await session.work(believed.at, page, row, column, urgency=Urgency.BELIEFS)
        texts = [*([told(belief)] if belief is not None else ()), *dict.fromkeys(map(page_of_rule, found))]
        spans = [*(each.span for each in found), *([belief.span] if belief is not None else ())]
        if not texts:
            return None
        value = types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(texts))
        return types.Hover(value, places.range(spans[0]))

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hints(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        """The devices behind assignments, as they were before the last changes if the client can be told of newer."""
        uri = params.text_document.uri
        unit = session.texts.unit(uri)
        shown = session.texts.shown(unit)
        page = None if shown is None else shown.of_uri(uri)
        if not session.preferences.inlay_hints.enable or shown is None or page is None:
            return None
        last = session.beliefs.last(unit)
        if last is None or not session.client.refreshes_hints:
            await session.settled(unit, shown)
            last = shown, await session.beliefs.of(unit, shown)
        elif not session.beliefs.is_current(unit, shown):
            if (task := later.pop(unit, None)) is not None:
                task.cancel()
            later[unit] = asyncio.create_task(newer(unit))
        await ready(last[1])
        return list(_hints(last[1], page, params.range, session.texts.encoding))

    async def ready(believed: Believed) -> None:
        """Have the targets ready, which are looked up once."""
        if not believed.is_ready:
            await session.work(getattr, believed, "assigned", urgency=Urgency.BELIEFS)

    async def newer(unit: str) -> None:
        """Have the client ask again when what is believed now is known."""
        shown = session.texts.shown(unit)
        if shown is None:
            return
        try:
            await session.settled(unit, shown)
            await ready(await session.beliefs.of(unit, shown))
        except StaleError:
            return  # the client has asked for hints of what it shows now
        server.workspace_inlay_hint_refresh(None)


def _hints(believed: Believed, page: Page, where: types.Range, encoding: str) -> Iterator[types.InlayHint]:
    """The hints in a part of a page, which may have changed since: see `moved`."""
    old = believed.shown.of_uri(page.uri)
    if old is None:
        return
    rows, places = moved(old.lines, page.lines), Places(page.lines, encoding)
    for belief in believed.assigned:
        row = rows(belief.span.end_row) if belief.cell == old.cell else None
        if row is not None and where.start.line < row <= where.end.line + 1:
            yield _hint(belief, places.position(row, belief.span.end_column))


def _hint(belief: Belief, position: types.Position) -> types.InlayHint:
    tooltip = types.MarkupContent(types.MarkupKind.Markdown, told(belief))
    return types.InlayHint(position, f"on {belief.device}", tooltip=tooltip, padding_left=True)
