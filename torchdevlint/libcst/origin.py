"""Which file a libcst module is, and the settings that hold for it.

A module does not know its file. libcst's own way to tell a provider more than the module is a cache: that of a
`FullRepoManager`, which codemods and Fixit use, or one that is handed to a `MetadataWrapper`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import BatchableMetadataProvider
from msgspec import Struct

from torchdevlint import select
from torchdevlint.config import Settings, load

UNNAMED = "module.py"


class Origin(Struct, frozen=True):
    """Where a module is from. Without a `filename` it is looked at alone, with the defaults for settings.

    With one, what it imports from its project is looked into, and settings are read as ``torchdevlint check`` would
    for that file, unless some are given. The file need not exist.
    """

    filename: str | None = None
    settings: Settings | None = None

    @property
    def name(self) -> str:
        return self.filename or UNNAMED

    def resolved(self) -> Settings:
        """The settings that hold. Raises ConfigError."""
        if self.settings is not None:
            return self.settings
        settings = Settings() if self.filename is None else load(Path(self.filename))
        select.check(settings)
        return settings


def origins(root_path: Path, paths: Sequence[str], **_: Any) -> Mapping[str, Origin]:
    """The cache that a `FullRepoManager` makes for files of a repository, whose paths are relative to its root."""
    return {path: Origin(os.fspath(root_path / path)) for path in paths}


def origin_of(cache: object) -> Origin:
    """The origin that a provider was given: an `Origin`, the path of a file, or nothing. Raises TypeError."""
    if cache is None:
        return Origin()
    if isinstance(cache, (str, os.PathLike)):
        return Origin(os.fspath(cache))
    if isinstance(cache, Origin):
        return cache
    raise TypeError(f"the cache of a provider must be an Origin or a path, not {type(cache).__name__}")


class OriginProvider(BatchableMetadataProvider[Origin]):
    """The `Origin` of a module, for its root node."""

    @classmethod
    def gen_cache(cls, root_path: Path, paths: list[str], timeout: int | None = None, **_: Any) -> Mapping[str, Origin]:
        return origins(root_path, paths)

    def __init__(self, cache: object = None) -> None:
        self.origin = origin_of(cache)
        super().__init__(self.origin)

    def visit_Module(self, node: cst.Module) -> None:  # noqa: N802 (libcst's name)
        self.set_metadata(node, self.origin)
