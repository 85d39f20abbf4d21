"""What is believed, where a client asks for it: under the pointer, and behind assignments.

What is believed of a text is known when its findings are, since both are of one analysis. Inlay hints do not wait for
that: they are given at once for all rows but those that were changed since the last one, and the client is told to ask
again when there is something newer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchdevlint.integrations.lsp.document import Linted, Page
from torchdevlint.integrations.lsp.findings import page_of_rule
from torchdevlint.integrations.lsp.latest import StaleError
from torchdevlint.integrations.lsp.places import Places, moved, touches
from torchdevlint.integrations.lsp.session import Session
from torchdevlint.integrations.lsp.worker import Urgency
from torchdevlint.model import Belief, Note
from torchdevlint.report.beliefs import sentence


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
        belief = await session.work(linted.believed, page, *places.place(params.position), urgency=Urgency.BELIEFS)
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
        last = session.findings.last(unit)
        if last is None or not session.client.refreshes_hints:
            await session.settled(unit, shown)
            last = await session.findings.of(unit, shown)
        elif not session.findings.is_current(unit, shown):
            if (task := later.pop(unit, None)) is not None:
                task.cancel()
            later[unit] = asyncio.create_task(newer(unit))
        await ready(last)
        return list(_hints(last, page, params.range, session.texts.encoding))

    async def ready(linted: Linted) -> None:
        """Have the targets ready, which are looked up once."""
        if not linted.has_assigned:
            await session.work(getattr, linted, "assigned", urgency=Urgency.BELIEFS)

    async def newer(unit: str) -> None:
        """Have the client ask again when what is believed now is known."""
        shown = session.texts.shown(unit)
        if shown is None:
            return
        try:
            await session.settled(unit, shown)
            await ready(await session.findings.of(unit, shown))
        except StaleError:
            return  # the client has asked for hints of what it shows now
        server.workspace_inlay_hint_refresh(None)


def _hints(linted: Linted, page: Page, where: types.Range, encoding: str) -> Iterator[types.InlayHint]:
    """The hints in a part of a page, which may have changed since: see `moved`."""
    old = linted.shown.of_uri(page.uri)
    if old is None:
        return
    rows, places = moved(old.lines, page.lines), Places(page.lines, encoding)
    for belief in linted.assigned:
        row = rows(belief.span.end_row) if belief.cell == old.cell else None
        if row is not None and where.start.line < row <= where.end.line + 1:
            yield _hint(belief, places.position(row, belief.span.end_column))


def _hint(belief: Belief, position: types.Position) -> types.InlayHint:
    tooltip = types.MarkupContent(types.MarkupKind.Markdown, told(belief))
    return types.InlayHint(position, f"on {belief.device}", tooltip=tooltip, padding_left=True)


def told(belief: Belief) -> str:
    """A belief in Markdown: what it is, where it was made and moved, or why that is not known."""
    lines = [sentence(belief), *(f"- {_placed(each)}" for each in belief.notes)]
    lines += [f"- {each.when or 'or'}: {each.description}" for each in belief.alternatives]
    if belief.unknown_because is not None:
        lines.append(f"- unknown because {_placed(belief.unknown_because)}")
    return "\n".join(lines)


def _placed(note: Note) -> str:
    """A note with its place, unless it names that itself, which is in the cell of the belief."""
    file = f"{Path(note.span.file).name}, " if note.span.file else ""
    return note.message if ", line " in note.message else f"{note.message} ({file}line {note.span.row})"
