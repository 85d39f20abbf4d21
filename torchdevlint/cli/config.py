"""``torchdevlint config``: the keys of a configuration, what one of them is for, and the schema of all."""

from __future__ import annotations

import json
from typing import Any

import click
from msgspec.structs import replace

from torchdevlint.cli.console import emit
from torchdevlint.cli.refused import Refused
from torchdevlint.config import Option, Settings, Verify, nearest, options, written


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("key", required=False, metavar="[KEY]")
@click.option("--schema", is_flag=True, help="Print a JSON schema of the configuration, for editors.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", help="How it is written.")
def config(key: str | None, schema: bool, output_format: str) -> int:
    """List the keys of the configuration, or explain one, such as `select` or `verify.timeout`.

    What holds for a file is what `torchdevlint check --show-settings FILE` prints.
    """
    if schema:
        if key is not None:
            raise click.UsageError("--schema is of all keys; name none")
        from torchdevlint.config.schema import schema as made

        emit(json.dumps(made(), indent=2) + "\n")
        return 0
    known = keys()
    if key is None:
        emit(_json(known) if output_format == "json" else "".join(f"{name}\n" for name in known))
        return 0
    name = key.removeprefix("tool.torchdevlint.")
    if name not in known:
        raise Refused(f"there is no key `{key}`; did you mean `{nearest(name, known)}`?")
    emit(_json({name: known[name]}) if output_format == "json" else _explained(name, known[name]))
    return 0


def keys() -> dict[str, Option]:
    """All keys by their full names, in the order of the reference."""
    own = {one.key: one for one in options(Settings)}
    return {**own, **{f"verify.{one.key}": replace(one, of_run=True) for one in options(Verify)}}


def _explained(name: str, option: Option) -> str:
    default = "" if option.default is None else f"\nDefault: {_default(option)}"
    of_run = "\nOf the whole run: that of the current folder." if option.of_run else ""
    return f"{name}\n\n{option.help}\n\nHolds: {option.kind}{default}{of_run}\n"


def _default(option: Option) -> str:
    return "{}" if option.default == () and option.kind.startswith("a table") else written(option.default)


def _json(known: dict[str, Option]) -> str:
    told: dict[str, Any] = {
        name: {
            "kind": one.kind,
            "default": None if one.default is None else json.loads(_default(one)),
            "description": one.help,
            "of_run": one.of_run,
        }
        for name, one in known.items()
    }
    return json.dumps(told, indent=2) + "\n"
