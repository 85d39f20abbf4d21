"""The linter's fixes as codemods of libcst: ``python -m libcst.tool codemod -x torchdevlint.codemods.NAME PATH``."""

from torchdevlint.codemods.add_map_location import AddMapLocation
from torchdevlint.codemods.fix_device_placement import FixDevicePlacement

__all__ = ["AddMapLocation", "FixDevicePlacement"]
