"""Settings: one frozen record, read from ``pyproject.toml`` or ``torchdevlint.toml`` and overlaid by flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Settings:
    """Everything that a run depends on. Tuples hold codes, prefixes or ``ALL`` as the user wrote them."""

    root: Path = field(default_factory=Path.cwd)
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    force_exclude: bool = False
    output_format: str = "full"
    preview: bool = False
    target_torch: str | None = None
    module_bases: tuple[str, ...] = ()
    in_place_movers: tuple[str, ...] = ()
    batch_movers: tuple[str, ...] = ()
    device_managed_bases: tuple[str, ...] = ()
