"""The page of the configuration: what is written by hand, and a section for each key."""

from __future__ import annotations

from torchdevlint.config import Settings, Verify, options


def configuration() -> str:
    return f"""# Configuration

`[tool.torchdevlint]` in `pyproject.toml`, or the same keys at the top of `torchdevlint.toml`. A key that is not listed
here is refused, and the nearest one is named. `torchdevlint check --show-settings PATH` prints what holds for a file,
`torchdevlint config KEY` what a key is for.

`torchdevlint config --schema` prints a JSON schema of all keys. Written to a file, an editor completes and checks them:
that of Even Better TOML and Taplo with `#:schema ./torchdevlint.schema.json` as the first line of `torchdevlint.toml`.

## Which file holds

For each file that is linted it is the nearest configuration at or above its folder, as in ruff: `torchdevlint.toml`,
or else a `pyproject.toml` that has the table. Nothing is merged: in a folder with a configuration of its own, that of
the folders above does not count. The configuration of a folder says what is left out of it; whether it is entered at
all, that of the folder above. Patterns are relative to the folder of their file. A baseline hides findings of the files
whose configuration names it. Where the configuration of one folder cannot be used, that is an error (exit code 2), and
the other folders are linted all the same.

Keys that are marked *for the whole run* hold for everything that is linted at once. They are read from the
configuration of the current folder (for standard input, of `--stdin-filename`), and where there is none at or above it,
from that of the folder which all paths are in. Results are kept beside that one too (`cache-dir`). So neither the
findings nor the report depend on the order of paths.

`--config FILE` takes that file for all, `--isolated` none. The command line wins over any configuration: a flag takes
the place of the key of its name, with patterns relative to the current folder. `--extend-select`, `--extend-exclude`,
`--ignore` and `--unfixable` add to theirs; `--select` stands in for `select`, `extend-select` and `ignore` together,
as `--fixable` does for `fixable` and `unfixable`.

Keys without a flag of their own are set by `--config` as well: `--config 'target-torch = "2.4"'`, in TOML and as often
as wanted. That wins over files, also over one that another `--config` names, and gives way to flags; its patterns and
paths are relative to the current folder.

## Extending another file

`extend = "../shared.toml"` has a configuration stand on another one, which may extend a third; `~` is the home folder.
The file that extends is laid over the other one as the command line is over a file, and as ruff does it. A key takes
the place of the key of its name, tables such as `per-file-ignores` and `severity` as a whole. Keys that begin with
`extend-`, `ignore` and `unfixable` add. `select` stands in for `select`, `extend-select` and `ignore` together, as
`fixable` does for `fixable` and `unfixable`. Patterns and paths stay relative to the folder of the file that has them.

## `[tool.torchdevlint]`

{keys(Settings)}

## `[tool.torchdevlint.verify]`

{keys(Verify)}
"""


def keys(record: type[Settings] | type[Verify]) -> str:
    """A section for each key, which can be linked to and searched for."""
    parts = []
    for one in options(record):
        value = default(one.default)
        kind = one.kind[0].upper() + one.kind[1:]
        notes = f"{f'; default: {value}' if value else ''}{'; for the whole run' if one.of_run else ''}"
        parts.append(f"### `{one.key}`\n\n{kind}{notes}.\n\n{one.help}")
    return "\n\n".join(parts)


def default(value: object) -> str:
    """A default as TOML; none where the meaning says what holds instead."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{one}"' for one in value) + "]`" if value else ""
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"
