# SPDX-License-Identifier: BSD-3-Clause
"""Totals with their intervals, as the published table has them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from .corpus import Case
from .measure import Verdict

__all__ = ["interval", "lost", "markdown", "totals"]

Row = tuple[Case, dict[str, Verdict]]


def interval(good: int, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share."""
    if not count:
        return 0.0, 1.0
    z, p = 1.96, good / count
    middle = (p + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(p * (1 - p) / count + z * z / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def totals(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Counts by cause (the twins' cause is `clean`), and over all faults."""
    found: dict[str, dict[str, Any]] = defaultdict(lambda: defaultdict(int))
    for case, verdicts in rows:
        for name in (case.mutant.cause, *([] if case.clean else ["all faults"])):
            row = found[name]
            row["programs"] += 1
            for tool, verdict in verdicts.items():
                row[f"{tool} asked"] += 1
                row[f"{tool} right"] += bool(verdict["right"])
                row[f"{tool} cause"] += bool(verdict["cause"])
                row[f"{tool} harmful"] += bool(verdict.get("harmful"))
                marks = verdict.get("marks", {})
                row[f"{tool} failed"] += bool(marks.get("failed"))
                row[f"{tool} places"] += bool(marks.get("failed") and marks.get("built"))
    return {k: dict(v) for k, v in found.items()}


_COLUMNS = (
    ("run: cause", "run", "cause"),
    ("run: all right", "run", "right"),
    ("check: found", "check", "right"),
    ("fix: right", "fix", "right"),
    ("PyTorch: line", "torch", "failed"),
    ("anomaly: line and origin", "anomaly", "places"),
)


def markdown(rows: list[Row], title: str) -> str:
    """One table of docs/faults.md."""
    sums = totals(rows)
    tools = {t for _, v in rows for t in v}
    columns = [c for c in _COLUMNS if c[1] in tools]
    lines = [
        f"### {title}",
        "",
        "| cause | programs | " + " | ".join(c[0] for c in columns) + (" | fix: harmful |" if "fix" in tools else " |"),
    ]
    lines.append("| --- | ---: |" + " ---: |" * (len(columns) + ("fix" in tools)))
    order = sorted(k for k in sums if k not in ("all faults", "clean"))
    for name in [*order, *(k for k in ("all faults", "clean") if k in sums)]:
        row = sums[name]
        cells = []
        for _, tool, what in columns:
            count, good = row.get(f"{tool} asked", 0), row.get(f"{tool} {what}", 0)
            if not count or (name == "clean" and tool in ("torch", "anomaly")):
                cells.append("")
                continue
            low, high = interval(good, count)
            cells.append(f"{100 * good / count:.0f}% ({100 * low:.0f}-{100 * high:.0f})")
        if "fix" in tools:
            asked = row.get("fix asked", 0)
            cells.append(f"{row.get('fix harmful', 0)} of {asked}" if asked else "")
        label = {"clean": "harmless twins (silent)", "all faults": "**all faults**"}.get(name, name)
        lines.append(f"| {label} | {row['programs']} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


_MARKS = ("failed", "freed", "built", "carrier", "remedy")


def lost(rows: list[Row], title: str) -> str:
    """Where `run` loses marks: how many programs of a cause lack each, and what was said where the cause was wrong."""
    by: dict[str, Counter[str]] = defaultdict(Counter)
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for case, verdicts in rows:
        verdict = verdicts.get("run")
        if verdict is None or case.clean:
            continue
        row = by[case.mutant.cause]
        row["programs"] += 1
        if verdict["cause"]:
            row.update(k for k in _MARKS if not verdict.get("marks", {}).get(k, True))
        else:
            row["cause"] += 1
            said[case.mutant.cause].update(map(str, dict.fromkeys(verdict["said"]) or ["nothing"]))
    columns = ("programs", "cause", *_MARKS)
    lines = [f"### {title}: marks lost by `run`", "", "| cause | " + " | ".join(columns) + " | said instead |"]
    lines.append("| --- |" + " ---: |" * len(columns) + " --- |")
    for name in sorted(by):
        instead = ", ".join(f"{cause} {count}" for cause, count in said[name].most_common(3))
        lines.append(f"| {name} | " + " | ".join(str(by[name][c] or "") for c in columns) + f" | {instead} |")
    return "\n".join(lines) + "\n"
