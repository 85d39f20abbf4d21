"""Settings: what they are (`settings`), how some are laid over others (`laying`), where they are read from (`load`),
and which hold for a file (`hierarchy`).
"""

from __future__ import annotations

from torchdevlint.config.hierarchy import Configuration, SettingsOf
from torchdevlint.config.laying import laid, overlay, placed
from torchdevlint.config.load import NAMES, inline, load
from torchdevlint.config.settings import (
    DEFAULT_EXCLUDE,
    DEFAULT_INCLUDE,
    OF_RUN,
    ConfigError,
    Option,
    Settings,
    Verify,
    nearest,
    options,
)
from torchdevlint.config.written import written

__all__ = [
    "DEFAULT_EXCLUDE",
    "DEFAULT_INCLUDE",
    "NAMES",
    "OF_RUN",
    "ConfigError",
    "Configuration",
    "Option",
    "Settings",
    "SettingsOf",
    "Verify",
    "inline",
    "laid",
    "load",
    "nearest",
    "options",
    "overlay",
    "placed",
    "written",
]
