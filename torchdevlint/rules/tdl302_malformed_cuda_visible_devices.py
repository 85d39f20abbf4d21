"""`CUDA_VISIBLE_DEVICES` is misspelt, or given something that an environment variable cannot hold.

## What it does
Finds assignments in `os.environ` to a name that is nearly `CUDA_VISIBLE_DEVICES` (`CUDA_VISIBLE_DEVICE`,
`CUDA_VISABLE_DEVICES`, lower case), values that are not strings, and
`os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")`.

## Why is this bad?
A misspelt name is a variable that nobody reads: the program silently runs on all GPUs, first of all on GPU 0. A
number instead of a string raises

    TypeError: str expected, not int

and `setdefault` takes one value only:

    TypeError: _Environ.setdefault() takes 3 positional arguments but 4 were given

Several devices are one string with commas. Note too that `setdefault` does not override what the shell has set.

## Example
```python
os.environ["CUDA_VISIBLE_DEVICE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = 2
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")
```

## Use instead
```python
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = "2"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2,3")
```

## Fix safety
The fix writes the right name, and the number or the list as one string. It is safe: without it the program stops, or
the line does nothing. With it the line does what it says, and other GPUs are visible than before. There is none for
None and for a truth value, where name and value are made elsewhere, where CUDA has been used before, so that the right
name would come too late, or where the file reads the variable by its wrong name, or names a GPU such as `"cuda:1"`.

## What it cannot see
Values whose type is not known: `args.gpu` is a number or a string, depending on the parser, which is read where it is
in the same file and nothing assigns the option. Names that are computed, and variables of shells, launchers and
configuration files. It does not know which device numbers exist.

## References
- [os.environ](https://docs.python.org/3/library/os.html#os.environ): keys and values are strings
- [CUDA environment variables](https://docs.pytorch.org/docs/stable/cuda_environment_variables.html)
- a number: Sygil-Dev/sygil-webui#79, wxjiao/HiGRUs#15; a misspelt name: cBio/cbio-cluster#1
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdevlint.flow.facts.devices import MalformedVisibleDevices
from torchdevlint.model import Applicability, Fix, Report, Severity
from torchdevlint.rules.edits import fix, replaced
from torchdevlint.rules.wording import code, edit

SEVERITY = Severity.ERROR
EXECUTION = "environment"
PROBE = '''
"""A number or a second value is a TypeError, and a misspelt name leaves `CUDA_VISIBLE_DEVICES` unset."""
import os

NEEDS = "cpu"
OBSERVES = {"a number": "TypeError", "two values": "TypeError", "a misspelt name": "unset"}


def flagged(device):
    return {
        "a number": effect(lambda: os.environ.__setitem__("CUDA_VISIBLE_DEVICES", 2)),
        "two values": effect(lambda: os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2", "3")),
        "a misspelt name": effect(lambda: os.environ.__setitem__("CUDA_VISIBLE_DEVICE", "1")),
    }


def repaired(device):
    return {
        "a number": effect(lambda: os.environ.__setitem__("CUDA_VISIBLE_DEVICES", "2")),
        "two values": effect(lambda: os.environ.setdefault("CUDA_VISIBLE_DEVICES", "2,3")),
        "a misspelt name": effect(lambda: os.environ.__setitem__("CUDA_VISIBLE_DEVICES", "1")),
    }


def effect(assign):
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    try:
        assign()
    except TypeError as error:
        return type(error).__name__
    return os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
'''


def check(fact: MalformedVisibleDevices) -> Iterator[Report]:
    if fact.problem == "name":
        yield Report(
            span=fact.at,
            message=f"{code(fact.found)} is not a variable that CUDA reads",
            symptom="nothing raises: the assignment silently has no effect, and every GPU stays visible",
            help=f"write {edit(fact.suggestion)}",
            fix=_fix(fact),
        )
    elif fact.problem == "value":
        yield Report(
            span=fact.at,
            message=f"`CUDA_VISIBLE_DEVICES` is given {code(fact.found)}, which is not a string",
            symptom="TypeError: str expected",
            help=f"write {edit(fact.suggestion)}",
            fix=_fix(fact),
        )
    else:
        yield Report(
            span=fact.at,
            message="`CUDA_VISIBLE_DEVICES` is given more than one value; several devices are one string with commas",
            symptom="TypeError: _Environ.setdefault() takes 3 positional arguments but 4 were given",
            help=f"write {edit(fact.suggestion)}",
            fix=_fix(fact),
        )


def _fix(fact: MalformedVisibleDevices) -> Fix | None:
    if fact.given_at is None or not fact.written:
        return None
    return fix(Applicability.SAFE, f"write {edit(fact.written)}", replaced(fact.given_at, fact.written))
