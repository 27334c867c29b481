# SPDX-License-Identifier: BSD-3-Clause
"""The front of all competitors as a picture."""

from __future__ import annotations

from typing import Any

_WIDTH, _HEIGHT = 890, 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 60, 520, 50, 385
_ACROSS, _LOW, _HIGH = 1.05, 0.9, 2.0  # what lies outside is drawn at the edge, and its label says where it is


def picture(rows: list[dict[str, Any]], title: str) -> str:
    """The front as SVG: peak to the right, time upwards; nearer to the lower left corner is better."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" ',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 24, title),
        f'<path d="M{_LEFT} {_TOP - 10}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="#333"/>',
        _text((_LEFT + _RIGHT) / 2, _HEIGHT - 14, "peak, as a share of retain_graph=True", "middle"),
        f'<g transform="rotate(-90 16 220)">{_text(16, 220, "time against retain_graph=True", "middle")}</g>',
    ]
    for tick in (0.25, 0.5, 0.75, 1.0):
        x, _ = _spot(tick, _LOW)
        parts += [f'<path d="M{x:.0f} {_BOTTOM}v4" stroke="#333"/>', _text(x, _BOTTOM + 17, f"{tick:.2f}", "middle")]
    for tenth in range(10, 21, 2):
        _, y = _spot(0, tenth / 10)
        parts.append(f'<path d="M{_LEFT - 4} {y:.0f}H{_RIGHT}" stroke="#eee"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{tenth / 10:.1f}", "end"))
    kept = [row for row in rows if row["name"].startswith("keep") and "offload" not in row["name"]]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in sorted(_spot(row["peak"], row["time"]) for row in kept))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1769aa" stroke-dasharray="4 3"/>')
    return "\n".join([*parts, *_labels(rows), "</svg>", ""])


def _labels(rows: list[dict[str, Any]]) -> list[str]:
    """A column of names beside the picture, each with a line to its point."""
    parts = []
    places = sorted((_spot(row["peak"], row["time"])[::-1], row["name"], row) for row in rows)
    label = float(_TOP - 12)
    for left, ((y, x), name, row) in enumerate(places):
        lowest = _BOTTOM - 16 * (len(places) - 1 - left)  # the ones below need room too
        label = min(max(label + 16, y), lowest)
        color = "#1769aa" if name.startswith("keep") else "#c0392b"
        words = f"{name}: peak x{row['peak']:.2f}, time x{row['time']:.2f}"
        parts += [
            f'<path d="M{x:.1f} {y:.1f}L{_RIGHT + 34} {label:.1f}" stroke="{color}" stroke-width="0.4"/>',
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>',
            _text(_RIGHT + 38, label + 4, words, color=color),
        ]
    return parts


def _spot(peak: float, time: float) -> tuple[float, float]:
    across, up = min(peak, _ACROSS) / _ACROSS, (min(time, _HIGH) - _LOW) / (_HIGH - _LOW)
    return _LEFT + across * (_RIGHT - _LEFT), _BOTTOM - up * (_BOTTOM - _TOP)


def _text(x: float, y: float, words: str, anchor: str = "start", color: str = "#333") -> str:
    words = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{words}</text>'
