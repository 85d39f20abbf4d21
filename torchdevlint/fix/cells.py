"""Notebooks: fixes change the sources of cells, and no other byte of the file."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence

from torchdevlint.fix.splice import splice
from torchdevlint.model import Applicability, Edit, Fix
from torchdevlint.source import json_text
from torchdevlint.source.notebook import Notebook, content_of, places, read, sources
from torchdevlint.source.text import decode
from torchdevlint.syntax.document import Document, parsed


def with_fixes(data: bytes, filename: str, fixes: Sequence[Fix]) -> tuple[bytes | None, tuple[Fix, ...]]:
    """The notebook with as many of `fixes` as fit beside each other, and which those are.

    None if a cell could not be parsed then that can be now. Raises what parsing it raises.
    """
    notebook = read(data)
    in_module = [notebook.fix_in_module(fix) for fix in fixes]
    whole = "".join(f"{row}\n" for cell in notebook.cells for row in cell.rows)
    made = splice(whole, in_module)[1]
    accepted = tuple(fix for fix, same in zip(fixes, in_module, strict=True) if same in made)
    changed = _changed(notebook, [edit for fix in accepted for edit in fix.edits])
    new = rewritten(data, changed)
    written = dict(enumerate(sources(new), start=1))
    if any(written.get(number) != source for number, source in changed.items()):
        return None, ()
    before, after = (_broken(parsed(content_of(each, filename))) for each in (data, new))
    return (new, accepted) if after <= before else (None, ())


def _broken(document: Document) -> int:
    """How many cells could not be parsed, those that were never run too."""
    notebook = document.content.notebook
    left_out = 0 if notebook is None else sum(cell.left_out for cell in notebook.cells)
    return max(left_out, len(document.errors))


def _changed(notebook: Notebook, edits: Sequence[Edit]) -> dict[int, str]:
    """The new sources of the cells that `edits` change, by their numbers."""
    found = {}
    for cell in notebook.cells:
        own = tuple(edit for edit in edits if edit.cell == cell.number)
        if own:
            new = splice(cell.source, [Fix(Applicability.SAFE, "", own)])[0]
            found[cell.number] = new if cell.source.endswith("\n") else new.removesuffix("\n")
    return found


def rewritten(data: bytes, changed: Mapping[int, str]) -> bytes:
    """A notebook with other sources in the cells of these numbers, and every other byte as it was."""
    text = decode(data)
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    return mark + "".join(_pieces(text, changed)).encode()


def _pieces(text: str, changed: Mapping[int, str]) -> Iterator[str]:
    done, where = 0, places(text)
    for number, source in sorted(changed.items()):
        start, end = where[number - 1]
        yield text[done:start]
        yield _string(text, start, end, source) if text[start] == '"' else _lines(text, start, end, source)
        done = end
    yield text[done:]


def _string(text: str, start: int, end: int, source: str) -> str:
    """The string at this place of the text, with what is another character in `source`."""
    old = json.loads(text[start:end])
    before, behind = _shared(old, source)
    middle = json_text.inside(source[before : len(source) - behind], text)
    cut = json_text.character(text, start, before), json_text.character(text, start, len(old) - behind)
    return text[start : cut[0]] + middle + text[cut[1] : end]


def _lines(text: str, start: int, end: int, source: str) -> str:
    """The list at this place of the text, with other items for the lines that are others in `source`."""
    where = json_text.items(text, start)
    old, new = [json.loads(text[begin:stop]) for begin, stop in where], source.splitlines(keepends=True)
    before, behind = _shared(old, new)
    known = {item: text[begin:stop] for item, (begin, stop) in zip(old, where, strict=True)}
    groups = [known.get(item) or f'"{json_text.inside(item, text)}"' for item in new[before : len(new) - behind]]
    if before:
        groups.insert(0, text[where[0][0] : where[before - 1][1]])
    if behind:
        groups.append(text[where[-behind][0] : where[-1][1]])
    if not where or not groups:
        return f"[{', '.join(groups)}]"
    lead = text[start + 1 : where[0][0]]
    separator = text[where[0][1] : where[1][0]] if len(where) > 1 else f",{lead or ' '}"
    return f"[{lead}{separator.join(groups)}{text[where[-1][1] : end]}"


def _shared(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many items both have in common at the start, and of the rest at the end."""
    before = _in_front(old, new)
    return before, _in_front(old[before:][::-1], new[before:][::-1])


def _in_front(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))
