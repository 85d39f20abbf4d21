"""Many projects on many machines: a bag of folders and archives to a table of findings, with Dask (extra `dask`).

`findings` is lazy and gives a `dask.bag.Bag` of rows. `lint_to_parquet` lints now, survives workers that die, and does
nothing again that it has done before. See ``docs/scale.md``.

What is linted is not trusted and does not configure anything: all inputs are linted with the same `settings`, whose
patterns are relative to each of them. Suppression comments hold, unless ``ignore_noqa`` is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchdevlint.integrations.dask.parts import SCHEMA
    from torchdevlint.integrations.dask.rows import COLUMNS, Row
    from torchdevlint.integrations.dask.table import Summary, findings, lint_to_parquet

__all__ = ["COLUMNS", "SCHEMA", "Row", "Summary", "findings", "lint_to_parquet"]

NO_DASK = "this needs dask, distributed and pyarrow: pip install 'torchdevlint[dask]'"

if not TYPE_CHECKING:  # to whom no other name is to be there

    def __getattr__(name: str) -> Any:
        """A name when it is asked for, so that ``python -m`` can say what is missing. Raises ImportError with it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            from torchdevlint.integrations.dask import parts, rows, table
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"{NO_DASK} ({error})", name=error.name) from error
        held = parts if name == "SCHEMA" else rows if name in ("COLUMNS", "Row") else table
        return getattr(held, name)
