"""The file is not Python that can be parsed.

## What it does
Reports a file that no parser at hand accepts, that holds NUL bytes, or that cannot be decoded with the encoding which
it declares (UTF-8 if it declares none). Syntax that is newer than the running Python is accepted.

## Why is this bad?
Importing such a file raises `SyntaxError`, and no other rule has looked at it: a run without this finding would
look clean.

## Example
```python
def forward(self, x:
    return x
```

## Use instead
```python
def forward(self, x):
    return x
```

## Fix safety
There is no fix.

A file for Python 2, by a first error such as that of a `print` statement, or if it would be right but for tabs or
`raise IOError, "no file"`, or a notebook by its kernel, is *advice*: it is counted in the last words of a run, and
reported where TDL901 is selected (`extend-select = ["TDL901"]`), since nobody runs it with a Python of today. So is one
whose only error is the name `async`, as in `x.cuda(async=True)`, if the project asks for a torch that no Python since
3.7 has had, such as 0.3.1. So is a file without a word of torch that nothing imports, in a project of several files
with a README: no check for devices is missed. There, unless it is installed, a file that only imports and defines is
advice as well, if nothing says its name and others in its folder are imported. So is one with `!pip install` that would
be read in a notebook, and that nothing imports: its cells are pasted into one. So is a module that holds other bytes
than UTF-8 in its comments alone: Python reads it where it is imported, and refuses it as a program; nothing in it is
checked. What macOS puts beside a file (`._name.py`) is no Python and left alone.

## What it cannot see
It reports the first error of a file only, and of each cell of a notebook. Broken cells of a notebook that has nothing
to do with torch are left alone, since its other cells run without them; so are cells that end in the error of a name
with a dot behind it (`frame.`), as when somebody looked up what an object has; so is a last cell that ends with
`for x in xs:`, or whose error is in a `print`; so are cells that were never run, by their missing `execution_count`, in
a notebook of which other cells were, and cells below which the `SyntaxError` of their last run is saved: their author
has seen it. So is an empty file
that is to be a notebook, or a pointer of Git LFS. Errors that Python finds after parsing, such as a `return` outside of
a function, are not looked for. A file that is nested too deeply to be analysed is no finding but a problem of the run.

What is newer than the running Python is read by libcst, and which syntax that knows depends on its version: defaults of
type parameters since 1.4, template strings and `except A, B:` since 1.8.4, lazy imports and unpacking in comprehensions
since 1.9, template strings beside each other (`t"a" t"b"`) not yet. Other tools may keep libcst old (TorchFix 0.7 wants
`libcst<1.6`). Where that is the reason, the message says so and the help names the version that would read the file.

## References
- [The Python Language Reference: full grammar](https://docs.python.org/3/reference/grammar.html)
- [PEP 263: defining Python source code encodings](https://peps.python.org/pep-0263/)
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.files import InvalidSyntax
from torchdevlint.model import Report, Severity

SEVERITY = Severity.ERROR
EXECUTION = None
PROBE = None


_EFFECTS = {
    "file": "SyntaxError when the file is run or imported; nothing else in it was checked",
    "cell": "SyntaxError when the cell is run; nothing else in it was checked",
    "notebook": "Jupyter cannot open it; nothing in it was checked",
}
_REMEDIES = {
    "file": "correct the syntax or the encoding; a file that is no Python can be excluded",
    "cell": "correct the syntax; what is no code can be a cell of text",
    "notebook": "restore the file, or exclude it",
}


def check(fact: InvalidSyntax) -> Iterator[Report]:
    yield Report(
        span=fact.at,
        message=f"the {fact.part} cannot be parsed: {fact.reason}",
        symptom=_EFFECTS[fact.part],
        help=fact.remedy or _REMEDIES[fact.part],
        severity=Severity.ADVICE if fact.for_python_2 else None,
    )
