# SPDX-License-Identifier: BSD-3-Clause
"""The front of all competitors as a picture."""

from __future__ import annotations

from typing import Any


def picture(rows: list[dict[str, Any]], title: str) -> str:
    """The front as SVG: peak to the right, time upwards, nearer to the corner is better."""
    width, height, left, bottom = 760, 420, 60, 370
    across = max(1.05, *(row["peak"] for row in rows))
    shown = [min(row["time"], 3.0) for row in rows]
    up = max(1.6, *shown) - 0.8

    def spot(row: dict[str, Any]) -> tuple[float, float]:
        x = left + row["peak"] / across * (width - left - 230)
        return x, bottom - (min(row["time"], 3.0) - 0.8) / up * (bottom - 40)

    def text(x: float, y: float, words: str, anchor: str = "start", color: str = "#333") -> str:
        words = words.replace("&", "&amp;").replace("<", "&lt;")
        return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{color}">{words}</text>'

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" ',
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        text(left, 22, title),
        f'<path d="M{left} 30V{bottom}H{width - 200}" fill="none" stroke="#333"/>',
        text((left + width - 200) / 2, height - 12, "peak, as a share of retain_graph=True", "middle"),
        f'<g transform="rotate(-90 16 200)">{text(16, 200, "time against retain_graph=True", "middle")}</g>',
    ]
    for tick in (0.25, 0.5, 0.75, 1.0):
        x = left + tick / across * (width - left - 230)
        parts += [f'<path d="M{x:.0f} {bottom}v4" stroke="#333"/>', text(x, bottom + 17, f"{tick:.2f}", "middle")]
    for number in range(8, int((up + 0.8) * 10) + 1, 2):
        y = bottom - (number / 10 - 0.8) / up * (bottom - 40)
        parts.append(f'<path d="M{left - 4} {y:.0f}h4" stroke="#333"/>')
        parts.append(text(left - 8, y + 4, f"{number / 10:.1f}", "end"))
    kept = sorted((row for row in rows if row["name"].startswith("keep") and "offload" not in row["name"]), key=spot)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(spot, kept))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1769aa" stroke-dasharray="4 3"/>')
    taken: list[tuple[float, float]] = []
    for row in sorted(rows, key=spot):
        x, y = spot(row)
        color = "#1769aa" if row["name"].startswith("keep") else "#c0392b"
        words = row["name"] + (f" (x{row['time']:.1f})" if row["time"] > 3 else "")
        label = y + 4
        while any(abs(label - other) < 13 and abs(x - place) < 190 for place, other in taken):
            label -= 13
        taken.append((x, label))
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{color}"/>', text(x + 8, label, words, color=color)]
    return "\n".join([*parts, "</svg>", ""])
