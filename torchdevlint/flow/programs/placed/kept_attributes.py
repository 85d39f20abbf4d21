"""What objects keep as attributes: by name, and what methods set of their own object, by its class as well.

So ``self.target`` of one class is not that of another one. What is set of an object from outside counts for all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from torchdevlint.flow.programs.placed.definitions import Definition, Definitions, Token, receiver_of
from torchdevlint.flow.programs.placed.worklist import HeldTokens
from torchdevlint.flow.scope.cuda_literals import Scope

_FROM_OUTSIDE = 1
"""Stands in the place of a line, for what is set of objects by others than their methods."""


class KeptAttributes:
    """The attributes of all objects of one program."""

    def __init__(self, held: HeldTokens, known: Definitions) -> None:
        self._held = held
        self._known = known

    def put(self, scope: Scope, target: ast.Attribute | ast.Name, tokens: Iterable[Token]) -> None:
        """An attribute is set, or in the body of a class, a name."""
        name = target.attr if isinstance(target, ast.Attribute) else target.id
        owner = _owner_of(scope, target)
        tokens = list(tokens)
        self._held.put(("", 0, name), tokens)
        self._held.put(("", _FROM_OUTSIDE, name) if owner is None else (*owner, f".{name}"), tokens)

    def fill(
        self, made: Definition, given: Iterable[Iterable[Token]], named: Mapping[str | None, Iterable[Token]]
    ) -> None:
        """An object is made of a class whose constructor is not seen, as that of a dataclass keeps what it is given."""
        for tokens in given:
            for name in sorted(self._known.fields(made)):
                self._held.put((*made, f".{name}"), tokens)
                self._held.put(("", 0, name), tokens)
        for key, tokens in named.items():
            self._held.put(("", 0, str(key)), tokens)
            self._held.put(("", _FROM_OUTSIDE, str(key)), tokens)

    def get(self, scope: Scope, node: ast.Attribute) -> set[Token]:
        """What an attribute may be, that is read somewhere."""
        owner = _owner_of(scope, node)
        related = [] if owner is None else sorted(self._known.related(owner))
        if not any(self._known.keeps(each, node.attr) for each in related):
            return self.of_any(node.attr)
        own = (self._held.get((*each, f".{node.attr}")) for each in related)
        return set(self._held.get(("", _FROM_OUTSIDE, node.attr))).union(*own)

    def of_any(self, name: str) -> set[Token]:
        """What any object may keep under a name."""
        return self._held.get(("", 0, name))


def _owner_of(scope: Scope, place: ast.Attribute | ast.Name) -> Definition | None:
    """The class around a place, where it names an attribute of the own object."""
    if scope.owner is None:
        return None
    if isinstance(place, ast.Attribute):
        receiver = receiver_of(scope.function)
        if not receiver or not isinstance(place.value, ast.Name) or place.value.id != receiver:
            return None
    return scope.file.path, scope.owner.lineno
