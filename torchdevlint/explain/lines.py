"""One line of a log as the program wrote it: without colours, links, and the prefixes of whatever ran the program."""

from __future__ import annotations

from torchdevlint.patterns import regex

MOST = 20_000
"""Letters of one line that are looked at."""

_COLOURS = regex(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\x1b\[[0-9;]*m|(?<!\w)\[[0-9;]{1,12}m")
_LINKS = regex(r"\[([^\[\]]{1,300})\]\((?:file|vscode|https?)[^)\s]{0,1000}\)|(?<=\S) <https?://localhost[^>]{0,200}>")
_STREAM = regex(
    r"^\s*(?:"
    r"\[?(?:rank|default|RANK ?)\d+\]?:\s?"  # torchrun
    r"|\([^()]{0,60}pid=\d+[^()]{0,60}\)\s?"  # Ray
    r"|(?:[\w.-]{1,60}\s{1,20})\| "  # docker compose
    r"|\d{1,4}: (?=\s*(?:Traceback|File \"|\w+Error|  ))"  # srun --label
    r")"
)
_DATE = regex(r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]?")
_LEVEL = regex(
    r"^(?:\s?[-|:]?\s?\[?(?:[\w.]{1,60}|\w+\.py|line:\d+)\]?\s?[-|:]?)??\s?\[?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL"
    r"|FATAL)\]?"
    r"(?: ?[-|:]{1,2})? ?"
)
_GROUP = regex(r"^\s*(?:[|+│┃] ?)(?:-*\+?-+ ?\d* ?-*)?")
_PYTEST = regex(r"^E {2,}")
_QUOTE = regex(r"^> ?(?=Traceback|\s*File \"|\s{4}|\w+Error|-+>|\S+Error)")


def clean(line: str) -> str:
    """`line` without all that; indentation stays."""
    line = line[:MOST]
    if "\x1b" in line or "[" in line:
        line = _COLOURS.sub("", line)
    if "](" in line or "<http" in line:
        line = _LINKS.sub(lambda link: link[1] or "", line)
    for prefix in (_STREAM, _QUOTE, _DATE, _LEVEL, _STREAM, _PYTEST):
        line = prefix.sub("", line, count=1)
    while line.lstrip()[:1] in "|│┃+" and line.strip():
        stripped = _GROUP.sub("", line, count=1)
        if stripped == line:
            break
        line = stripped.rstrip(" │┃")
    return line


def stream(line: str) -> str:
    """Who of several processes wrote a line, if it says so."""
    found = _STREAM.match(line)
    return found[0].strip() if found is not None else ""
