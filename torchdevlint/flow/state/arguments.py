"""The arguments of one call, evaluated."""

from __future__ import annotations

import ast

from msgspec import Struct
from msgspec.structs import replace

from torchdevlint.flow.state.values import UNKNOWN, Value


class Arguments(Struct):
    """Positional and keyword arguments with their nodes.

    `starred` and `double_starred` say that more may be given than is listed. What ``*args`` holds is listed when its
    items are known.
    """

    positional: list[tuple[ast.expr, Value]]
    keywords: dict[str, tuple[ast.expr, Value]]
    starred: bool = False
    double_starred: bool = False
    star_at: int | None = None
    """The position of the one star that stands for an unknown number of arguments, and there of what each is."""
    rest: tuple[ast.expr, Value] | None = None
    """What any argument is that two stars bring without saying its name."""

    def get(self, position: int, name: str) -> tuple[ast.expr, Value] | None:
        """The argument given by keyword or position, or None."""
        found = self.keywords.get(name)
        if found is None and position < len(self.positional) and not self.starred:
            return self.positional[position]
        return found

    def value(self, position: int, name: str) -> Value:
        found = self.get(position, name)
        return UNKNOWN if found is None else found[1]

    def but(self, name: str, value: Value) -> Arguments:
        """The same arguments with another value under one keyword."""
        keywords = {**self.keywords, name: (self.keywords[name][0], value)}
        return Arguments(self.positional, keywords, self.starred, self.double_starred)

    def after(
        self, positional: tuple[tuple[ast.expr, Value], ...], keywords: tuple[tuple[str, tuple[ast.expr, Value]], ...]
    ) -> Arguments:
        """These arguments behind those that were bound beforehand."""
        bound = {**dict(keywords), **self.keywords}
        return replace(self, positional=[*positional, *self.positional], keywords=bound)

    @property
    def values(self) -> list[Value]:
        return [value for _, value in self.positional]

    @property
    def keyword_values(self) -> dict[str, Value]:
        return {name: value for name, (_, value) in self.keywords.items()}

    @property
    def all_values(self) -> list[Value]:
        return [value for _, value in self.pairs]

    @property
    def pairs(self) -> list[tuple[ast.expr, Value]]:
        return [*self.positional, *self.keywords.values()]
