"""How long an editor waits after a key stroke for inlay hints, and whether findings wait for hints.

    python benchmarks/editor.py FILE.py [--write docs/performance.md]

A client of the language server types into the file, in rounds with hints off and on in turns. Milliseconds from the
change until the hints are there, from the change until the findings are, of which 300 are the pause after which a text
is linted, and from pointing at an expression after that until what is believed of it is there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

import tables  # noqa: E402

STROKES = 8
ROUNDS = 3
Waits = list[tuple[float, float, float]]
"""Seconds for hints, findings and a hover after each key stroke."""


async def typed(file: Path, hints: bool) -> Waits:
    """Type into a file in an editor of its own."""
    client, shown = LanguageClient("benchmark", "1"), asyncio.Queue[float]()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(_: types.PublishDiagnosticsParams) -> None:
        shown.put_nowait(time.perf_counter())

    @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)
    def refresh(_: Any) -> None:
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
    waits: Waits = []
    line = _row(text)
    for version in range(2, STROKES + 2):
        started = time.perf_counter()
        start = types.Range(types.Position(0, 0), types.Position(0, 0))
        change = types.TextDocumentContentChangePartial(start, "# typed\n")
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        await client.text_document_inlay_hint_async(asked)
        hinted = time.perf_counter() - started
        found = await shown.get() - started
        place = types.Position(line + version - 1, text.splitlines()[line].index("self.") + 1)
        pointed = time.perf_counter()
        await client.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), place))
        waits.append((hinted, found, time.perf_counter() - pointed))
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return waits


def measured(file: Path) -> dict[bool, Waits]:
    """The waits with hints off and on; rounds alternate, so that whatever else the machine does falls on both."""
    waits: dict[bool, Waits] = {False: [], True: []}
    for _ in range(ROUNDS):
        for hints, known in waits.items():
            known += asyncio.run(typed(file, hints))
    return waits


def markdown(file: Path, waits: dict[bool, Waits]) -> str:
    """The table of the page."""

    def cell(seconds: list[float]) -> str:
        low, *_, high = statistics.quantiles(seconds, n=20)
        return f"{statistics.median(seconds) * 1000:.0f} ({low * 1000:.0f}-{high * 1000:.0f})"

    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    lines = file.read_text(encoding="utf-8").count("\n")
    rows = []
    for hints, each in waits.items():
        hinted, found, hovered = (list(column) for column in zip(*each, strict=True))
        rows.append(["on" if hints else "off", cell(hinted) if hints else "", cell(found), cell(hovered)])
    head = ["hints", "hints after ms", "findings after ms", "hover after ms"]
    about = f"`{file.name}`, {lines:,} lines; {ROUNDS} rounds of {STROKES} key strokes; {os.cpu_count()} cores{load}."
    brackets = "Medians, and in brackets from the fastest to the slowest twentieth."
    return f"{about} {brackets}\n\n{tables.markdown(head, rows)}"


def processes(file: Path) -> str:
    """The table of CPU seconds that `reveal` of one line takes, beside `check` of the file and an error of `reveal`."""
    commands = {
        "`reveal` of a file that is not there": ["reveal", "missing.py:1"],
        "`check`, nothing cached": ["check", "--no-cache", "--isolated", str(file)],
        "`reveal` of one line": ["reveal", f"{file}:{_row(file.read_text(encoding='utf-8')) + 1}"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(2 * ROUNDS + 1):
        for name, command in commands.items():
            before = os.times()
            subprocess.run([sys.executable, "-m", "torchdevlint", *command], capture_output=True, check=False)
            after = os.times()
            used = after.children_user + after.children_system - before.children_user - before.children_system
            seconds[name].append(used)
    rows = [[name, f"{statistics.median(each):.2f}", f"{min(each):.2f}"] for name, each in seconds.items()]
    return tables.markdown(["process", "cpu s", "fastest"], rows)


def _row(text: str) -> int:
    """A row, from 0, with an attribute that one may ask about."""
    return next(number for number, row in enumerate(text.splitlines()) if row.strip().startswith("self."))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--write", type=Path, help="the page whose table is to be replaced")
    options = parser.parse_args()
    file = options.file.resolve()
    text = f"{markdown(file, measured(file))}\n\n{processes(file)}"
    print(text)
    if options.write:
        tables.refresh(options.write, "editor", text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
