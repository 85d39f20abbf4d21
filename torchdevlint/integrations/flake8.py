"""The flake8 plugin: the findings of ``torchdevlint check``, at the same places, chosen and silenced by flake8.

The tree that flake8 parsed is analysed as it is. Selection, ``# noqa`` and ``per-file-ignores`` stay flake8's;
``# torchdevlint:`` comments and the project's settings for the inference are honoured here. TDL900 to TDL903 are
the command line's alone: flake8 says E999 itself. Results are kept where the command line keeps them.
"""

from __future__ import annotations

import ast
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import ClassVar

from flake8.exceptions import ExecutionError
from flake8.options.manager import OptionManager
from flake8.style_guide import Decision, DecisionEngine
from msgspec.structs import replace

from torchdevlint import __version__
from torchdevlint.cache import Cache, folder_of
from torchdevlint.config import ConfigError, Configuration, Settings, SettingsOf
from torchdevlint.deferred import defer
from torchdevlint.engine import check_tree
from torchdevlint.garbage import few_collections, few_full_collections
from torchdevlint.report.terminal import escape
from torchdevlint.rules import identities, prefixes


class Plugin:
    """One file, as flake8 hands it over."""

    name = "torchdevlint"
    version = __version__
    settings: ClassVar[SettingsOf] = Settings()
    decisions: ClassVar[DecisionEngine | None] = None
    """What flake8 shows, apart from ``per-file-ignores`` and ``# noqa``."""
    cache: ClassVar[Cache | None] = None
    """Not opened before the first file, since processes must not share a database."""
    saved: ClassVar[bool] = False
    """Files are as they are on disk: none comes from standard input."""

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        self.tree = tree
        self.filename = filename
        self.lines = lines

    @staticmethod
    def add_options(manager: OptionManager) -> None:
        """Advice rules are known to flake8 and off, like ``E126`` is; codes of other prefixes are on, as ours are.

        Raises flake8's ExecutionError for rule packages that exclude each other.
        """
        try:
            manager.extend_default_ignore([rule.code for rule in identities() if not rule.default])
            manager.extend_default_select(prefixes())
        except ConfigError as error:
            raise ExecutionError(f"torchdevlint: {error}") from error

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Finds the configurations that the command line would, which are read when they are needed.

        Raises flake8's ExecutionError for one that is refused.
        """

        # Which findings of a rule are shown only where it is selected by name depends on what flake8 was told.
        def selected(own: Settings) -> Settings:
            chosen = None if options.select is None else tuple(options.select)
            return replace(own, select=chosen, extend_select=tuple(options.extend_select or ()))

        paths = [name for name in options.filenames if name != "-"]
        try:
            configuration = Configuration(paths=paths, isolated=options.isolated, finished=selected)
        except ConfigError as error:
            raise ExecutionError(f"torchdevlint: {error}") from error
        cls.settings = configuration
        cls.decisions = DecisionEngine(options)
        cls.cache = Cache(folder_of(configuration.run))
        cls.saved = "-" not in options.filenames
        few_full_collections()
        defer()

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Row, column from 0, text. A rule that fails is flake8's to report: it names the plugin and stops."""
        settings = self.settings.of(self.filename)
        with few_collections():
            text = "".join(self.lines)
            result = check_tree(self.tree, text, self.filename, settings, self._shows, self.cache, self.saved)
        if result.problems:
            raise RuntimeError("; ".join(problem.message for problem in result.problems))
        for one in result.diagnostics:
            yield one.span.row, one.span.column - 1, f"{one.code} {escape(one.message)}", type(self)

    @classmethod
    def _shows(cls, code: str) -> bool:
        return cls.decisions is None or cls.decisions.decision_for(code) is Decision.Selected
