"""A bar chart as SVG: groups of horizontal bars on a logarithmic scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLORS = ("#0b6e4f", "#c8553d", "#8e6c8a", "#e0a458", "#7d8597", "#33658a")
LEFT, RIGHT, BAR, STEP, GAP, TOP = 220, 80, 16, 22, 34, 56
SCALE = 420


@dataclass(frozen=True)
class Group:
    """Bars under one heading: what each stands for and its value, which is above 0."""

    title: str
    bars: tuple[tuple[str, float], ...]


def bar_chart(title: str, unit: str, groups: Sequence[Group]) -> str:
    """The chart; its description says the values, for those who do not see it. There is at least one bar."""
    values = [value for group in groups for _, value in group.bars]
    low, high = math.floor(math.log10(min(values))), math.floor(math.log10(max(values))) + 1
    names = dict.fromkeys(name for group in groups for name, _ in group.bars)
    colors = {name: COLORS[index % len(COLORS)] for index, name in enumerate(names)}
    drawn, y = [], TOP
    for group in groups:
        drawn.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(group.title)}</text>')
        drawn += _bars(group, y + STEP, low, high, colors)
        y += len(group.bars) * STEP + GAP
    said = "; ".join(f"{group.title}: {', '.join(f'{n} {_short(v)}' for n, v in group.bars)}" for group in groups)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SCALE + RIGHT} {y + 24}"',
        '     role="img" aria-labelledby="title desc" font-family="sans-serif" font-size="13">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(f"In {unit}. {said}.")}</desc>',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="10" y="24" font-size="16">{escape(title)}</text>',
        *_grid(low, high, y),
        f'<text x="{LEFT + SCALE / 2:g}" y="{y + 18}" text-anchor="middle">{escape(unit)}, logarithmic</text>',
        *drawn,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _bars(group: Group, top: int, low: int, high: int, colors: Mapping[str, str]) -> list[str]:
    lines = []
    for index, (name, value) in enumerate(group.bars):
        y, width = top + index * STEP, SCALE * (math.log10(value) - low) / (high - low)
        lines += [
            f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colors[name]}"/>',
            f'<text x="{LEFT + width + 6:.1f}" y="{y + 12}">{_short(value)}</text>',
        ]
    return lines


def _grid(low: int, high: int, bottom: int) -> list[str]:
    lines = []
    for power in range(low, high + 1):
        x = LEFT + SCALE * (power - low) / (high - low)
        lines += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom - 14}" stroke="#dddddd"/>',
            f'<text x="{x:.1f}" y="{bottom}" text-anchor="middle" fill="#555555">{10.0**power:g}</text>',
        ]
    return lines


def _short(value: float) -> str:
    """A few digits: as many as a reader compares."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
