"""What the inference believes of expressions, for libcst's nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import libcst as cst
from libcst.metadata import BatchableMetadataProvider, PositionProvider

from torchdevlint.beliefs import of_bytes
from torchdevlint.libcst.origin import Origin, origin_of, origins
from torchdevlint.libcst.places import ranges_in, standing
from torchdevlint.model import Belief, Span
from torchdevlint.source.text import encoded


class DeviceProvider(BatchableMetadataProvider[Belief]):
    """What each expression and each parameter is inferred to be: its kind, its device, where it was made and moved.

    ``METADATA_DEPENDENCIES = (DeviceProvider,)``, then ``self.get_metadata(DeviceProvider, node, None)``. There is no
    belief of what is inside of an f-string, which has one itself, or is no value: the ``y`` of ``x.y``, the ``k`` of
    ``f(k=1)``.

    From a `FullRepoManager` it has the file, and so what that imports from its project, and its settings; so it has
    from ``MetadataWrapper(module, cache={DeviceProvider: "src/train.py"})``, or an `Origin` in the place of the path.
    Raises ConfigError, and ParseError for what libcst reads and Python does not.
    """

    METADATA_DEPENDENCIES = (PositionProvider,)

    @classmethod
    def gen_cache(cls, root_path: Path, paths: list[str], timeout: int | None = None, **_: Any) -> Mapping[str, Origin]:
        """What a `FullRepoManager` asks for."""
        return origins(root_path, paths)

    def __init__(self, cache: object = None) -> None:
        self.origin = origin_of(cache)
        super().__init__(self.origin)

    def visit_Module(self, node: cst.Module) -> None:  # noqa: N802 (libcst's name)
        """Believes it all at once: what something is depends on all that ran before."""
        beliefs: dict[Span, Belief] = {}
        for belief in of_bytes(encoded(node.code), self.origin.name, self.origin.resolved()).all:
            beliefs.setdefault(belief.span, belief)  # an f-string comes before what is inside, which stands there too
        for each, place in standing(ranges_in(self.metadata)):
            if place in beliefs:
                self.set_metadata(each, beliefs[place])
