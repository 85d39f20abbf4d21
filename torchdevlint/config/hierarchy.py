"""Which settings hold for which file: those of the nearest configuration file, with the flags laid over them.

Nothing is merged: a file in a folder with a configuration of its own does not see that of the folders above. What holds
for a whole run, such as the format of the report, is the same in all settings, and is read from one configuration.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec.structs import replace

from torchdevlint.config.load import NAMES, load, load_own
from torchdevlint.config.settings import OF_RUN, ConfigError, Settings
from torchdevlint.files import is_folder


class Configuration:
    """The settings of all files of a run, read from each configuration once, and looked for once a folder.

    `start` is where the configuration of the run is looked for, a file or (with ``/`` at its end) a folder; where
    there is none at or above it, that of the folder which all `paths` are in is taken. With `isolated` there are the
    defaults only, with `file` only what that file says. `finished` makes of the settings of each configuration what is
    to hold: it lays flags over them, and refuses what only others can tell is wrong.

    Raises ConfigError where the configuration of the run cannot be used. It is meant for one thread, and for as long
    as the current folder stays the same.
    """

    def __init__(
        self,
        start: str = "./",
        paths: Sequence[str] = (),
        isolated: bool = False,
        file: Path | None = None,
        finished: Callable[[Settings], Settings] = lambda settings: settings,
    ) -> None:
        self._finished = finished
        self._fixed = isolated or file is not None
        self._extended: set[str] = set()
        self._known: dict[str, Settings | ConfigError] = {}
        """By folder: absolute, and as it was asked for."""
        self._of_run: dict[str, Any] = {}
        self._without = finished(load(Path(), isolated, file, self._extended.add) if self._fixed else Settings())
        self.run = self.of(start)
        """What holds for the run itself: of `OF_RUN`, every other one of the settings says the same."""
        if self.run.config_file is None and paths:
            self.run = self.of(_shared_folder(paths))
        if self.run.config_file is not None and not self._fixed:
            self._of_run = {name: getattr(self.run, name) for name in OF_RUN}
            self._without = replace(self._without, **self._of_run)
            self._known.clear()

    def of(self, filename: str) -> Settings:
        """The settings for a file, relative to the current folder or absolute; a folder ends in ``/``.

        Raises ConfigError where the nearest configuration cannot be used.
        """
        if self._fixed:
            return self._without
        folder = os.path.dirname(filename)  # noqa: PTH120 (asked for each file)
        found = self._known.get(folder)
        if found is None:
            found = self._known[folder] = self._nearest(os.path.abspath(folder))  # noqa: PTH100 (links stay)
        if isinstance(found, ConfigError):
            raise ConfigError(*found.args)
        return found

    def sources(self) -> list[str]:
        """The files that hold what was asked for so far, or would if they were there."""
        folders = sorted(each for each in self._known if os.path.isabs(each))  # noqa: PTH117
        own = [os.path.join(folder, name) for folder in folders for name in NAMES]  # noqa: PTH118
        return own + sorted(self._extended)

    def _nearest(self, folder: str) -> Settings | ConfigError:
        """What the configuration at or above an absolute folder comes to, the defaults where there is none."""
        passed, found = [], self._known.get(folder)
        while found is None:
            passed.append(folder)
            above = os.path.dirname(folder)  # noqa: PTH120
            found = self._own(folder) or (self._without if above == folder else self._known.get(above))
            folder = above
        self._known.update(dict.fromkeys(passed, found))
        return found

    def _own(self, folder: str) -> Settings | ConfigError | None:
        try:
            own = load_own(folder, self._extended.add)
            return None if own is None else replace(self._finished(own), **self._of_run)
        except ConfigError as error:
            return error


SettingsOf: TypeAlias = Settings | Configuration
"""The settings of each file by its name: the same for all, or those of the nearest configuration."""


def _shared_folder(paths: Sequence[str]) -> str:
    """The innermost folder that all paths are in, with ``/`` at its end."""
    folders = [each if is_folder(each) else each.parent for each in map(Path, paths)]
    try:
        return f"{os.path.commonpath([each.absolute() for each in folders])}/"
    except ValueError:  # several drives
        return "./"
