"""Figures and axes of matplotlib, and grids of these: what they draw, the host reads."""

from __future__ import annotations

from torchdevlint.flow.state.joins import AXES, sequence
from torchdevlint.flow.state.values import Ref, Seq, Value

_FIGURE = Ref("matplotlib.figure.Figure")
_FIGURES = Seq(None, _FIGURE)

GIVEN: dict[str, Value] = {
    "matplotlib.pyplot.figure": _FIGURE,
    "matplotlib.pyplot.gcf": _FIGURE,
    "matplotlib.pyplot.subplots": sequence([_FIGURE, AXES]),
    "matplotlib.pyplot.subplot": AXES,
    "matplotlib.pyplot.axes": AXES,
    "matplotlib.pyplot.gca": AXES,
    "matplotlib.figure.Figure.add_subplot": AXES,
    "matplotlib.figure.Figure.add_axes": AXES,
    "matplotlib.figure.Figure.gca": AXES,
    "matplotlib.figure.Figure.subplots": AXES,
    "matplotlib.figure.Figure.subfigures": _FIGURES,
    "matplotlib.figure.Figure.add_subfigure": _FIGURE,
    "matplotlib.axes.Axes.ravel": AXES,
    "matplotlib.axes.Axes.flatten": AXES,
    "matplotlib.axes.Axes.reshape": AXES,
    "matplotlib.axes.Axes.tolist": AXES,
}
"""What functions of matplotlib give, by their names."""
