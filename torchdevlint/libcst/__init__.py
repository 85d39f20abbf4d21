"""The linter for users of libcst: what it finds, and what it believes of each expression, at libcst's own nodes.

The inference runs on the tree of `ast`, as it does for every file (see ``docs/design.md``); here its answers are given
to the nodes that stand in the same places. Nothing here is loaded by ``torchdevlint check``.
"""

from torchdevlint.libcst.devices import DeviceProvider
from torchdevlint.libcst.findings import DevicePlacementVisitor, Finding, FindingProvider
from torchdevlint.libcst.origin import Origin, OriginProvider
from torchdevlint.model import Belief

__all__ = [
    "Belief", "DevicePlacementVisitor", "DeviceProvider", "Finding", "FindingProvider", "Origin", "OriginProvider",
]  # fmt: skip
