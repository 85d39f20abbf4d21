"""How long an editor waits after a key stroke for inlay hints, and whether findings wait for hints.

    python benchmarks/editor.py FILE.py

A client of the language server types into the file, with hints off and on in turns. Milliseconds from the change until
the hints are there, and until the findings are, of which 300 are the pause after which a text is linted; medians.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

STROKES = 8


async def typed(file: Path, hints: bool) -> tuple[float | None, float]:
    """The medians for hints, if they are on, and for findings."""
    client, shown = LanguageClient("benchmark", "1"), asyncio.Queue[float]()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(_: types.PublishDiagnosticsParams) -> None:
        shown.put_nowait(time.perf_counter())

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def refresh(_: object) -> None:
        pass

    await client.start_io(sys.executable, "-m", "torchdevlint", "server")
    support = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
    capabilities = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(inlay_hint=support))
    options = {"inlayHints": {"enable": hints}}
    params = types.InitializeParams(capabilities, root_uri=file.parent.as_uri(), initialization_options=options)
    await client.initialize_async(params)
    client.initialized(types.InitializedParams())
    uri, text = file.as_uri(), file.read_text(encoding="utf-8")
    document = types.TextDocumentItem(uri, "python", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    whole = types.Range(types.Position(0, 0), types.Position(text.count("\n") + STROKES, 0))
    asked = types.InlayHintParams(types.TextDocumentIdentifier(uri), whole)
    await shown.get()
    await client.text_document_inlay_hint_async(asked)
    waits: list[tuple[float, float]] = []
    for version in range(2, STROKES + 2):
        started = time.perf_counter()
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        change = types.TextDocumentContentChangePartial(start, "# typed\n")
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        await client.text_document_inlay_hint_async(asked)
        hinted = time.perf_counter() - started
        waits.append((hinted, await shown.get() - started))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    first, second = (statistics.median(each) * 1000 for each in zip(*waits, strict=True))
    return (first if hints else None), second


def main() -> int:
    file = Path(sys.argv[1]).resolve()
    print(f"{file.name}: {file.read_text(encoding='utf-8').count(chr(10))} lines")
    for hints in (False, True, False, True):
        first, second = asyncio.run(typed(file, hints))
        told = f"hints after {first:.0f} ms, " if first is not None else ""
        print(f"hints {'on' if hints else 'off'}: {told}findings after {second:.0f} ms")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
