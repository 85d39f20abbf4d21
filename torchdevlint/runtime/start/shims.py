"""Commands that come first on the program's ``PATH``, give back what is to be inherited, and go on to the real ones.

They are for shells: ``PYTHONPATH=. python x.py`` drops our folder from the path, ``env -i $(which python) x.py`` drops
everything. There is one for each Python that ``PATH`` finds, for each script beside it that a Python executes
(``torchrun``, ``accelerate``, ``pytest``), and for ``env``. They lie in a folder of this run alone, and nothing else is
changed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from torchdevlint.runtime.start.inherit import BOOTSTRAP, PATH, RECORD

_PYTHON = re.compile(r"python(\d(\.\d+)?)?$")
_OF_PYTHON = re.compile(rb"#!.*python[\d.]*\s")
_SHIM = """\
#!/bin/sh
# Made by `torchdevlint run`, for as long as it runs.
if [ -z "${record}" ]; then
  export {variables}
fi
case ":${path}:" in
  *:{bootstrap}:*) ;;
  *) export {path}={bootstrap}"${{{path}:+:${path}}}" ;;
esac
exec {command} "$@"
"""
_ENV = """\
#!/bin/sh
# Made by `torchdevlint run`, for as long as it runs: what `env -i` starts is checked as well.
case "$1" in
  -|-i|--ignore-environment)
    case "$2" in
      -*) ;;
      *) first=$1; shift; set -- "$first" {variables} {path}={bootstrap} "$@" ;;
    esac ;;
esac
exec {command} "$@"
"""


def make(folder: Path, search: str, given: Mapping[str, str]) -> None:
    """Write to `folder`, which is made, a command for each that `search`, a value of ``PATH``, finds."""
    folder.mkdir()
    commands = _commands(search)
    env = shutil.which("env", path=search)
    for name, command in {**commands, **({"env": env} if env is not None else {})}.items():
        shim = folder / name
        shim.write_text(_text(_ENV if command == env else _SHIM, command, given), "utf-8")
        shim.chmod(0o755)


def _text(template: str, command: str, given: Mapping[str, str]) -> str:
    variables = " ".join(f"{name}={quote(value)}" for name, value in given.items())
    bootstrap = quote(str(BOOTSTRAP))
    return template.format(record=RECORD, variables=variables, path=PATH, bootstrap=bootstrap, command=quote(command))


def _commands(search: str) -> dict[str, str]:
    """Names and files: of each name the first, as a shell would find it."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for folder in filter(None, search.split(os.pathsep)):
        try:
            names = sorted(path.name for path in Path(folder).iterdir())
        except OSError:
            continue
        pythons = any(_PYTHON.match(name) for name in names)
        for name in names if pythons else ():
            path = os.path.join(os.path.abspath(folder), name)  # noqa: PTH100, PTH118 (links are what a shell follows)
            if name not in taken and (_PYTHON.match(name) or _is_of_python(path)) and os.access(path, os.X_OK):
                found[name] = path
        taken.update(names)
    return found


def _is_of_python(path: str) -> bool:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return _OF_PYTHON.match(file.read(200)) is not None
    except OSError:
        return False
