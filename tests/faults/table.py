# SPDX-License-Identifier: BSD-3-Clause
"""Totals with their intervals, as the published table has them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from .corpus import Case
from .measure import Verdict

__all__ = ["interval", "lost", "markdown", "survival", "totals"]

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
                row[f"{tool} refused"] += not verdict["right"] and not verdict.get("harmful")
                marks = verdict.get("marks", {})
                row[f"{tool} failed"] += bool(marks.get("failed"))
                row[f"{tool} places"] += bool(marks.get("failed") and marks.get("built"))
    return {k: dict(v) for k, v in found.items()}


_COLUMNS = (
    ("run: cause", "run", "cause"),
    ("run: all right", "run", "right"),
    ("check: found", "check", "right"),
    ("PyTorch: line", "torch", "failed"),
    ("anomaly: line and origin", "anomaly", "places"),
    ("command: cause", "command", "cause"),
    ("command: all right", "command", "right"),
    ("answers: cause", "answers", "cause"),
    ("answers: all right", "answers", "right"),
)


def markdown(rows: list[Row], title: str) -> str:
    """One table of docs/faults.md."""
    sums = totals(rows)
    tools = {t for _, v in rows for t in v}
    columns = [c for c in _COLUMNS if c[1] in tools]
    repairs = ["fix asked: right, refused, harmful"] if "fix" in tools else []
    lines = [
        f"### {title}",
        "",
        "| " + " | ".join(["cause", "programs", *(c[0] for c in columns), *repairs]) + " |",
    ]
    lines.append("| --- | ---: |" + " ---: |" * (len(columns) + len(repairs)))
    order = sorted(k for k in sums if k not in ("all faults", "clean"))
    for name in [*order, *(k for k in ("all faults", "clean") if k in sums)]:
        row = sums[name]
        cells = []
        for _, tool, what in columns:
            count, good = row.get(f"{tool} asked", 0), row.get(f"{tool} {what}", 0)
            if not count or (name == "clean" and tool in ("torch", "anomaly")):
                cells.append("")
                continue
            cells.append(_share(good, count))
        if "fix" in tools:
            counts = [row.get(f"fix {what}", 0) for what in ("asked", "right", "refused", "harmful")]
            cells.append("{}: {}, {}, {}".format(*counts) if counts[0] else "")
        label = {"clean": "harmless twins (silent)", "all faults": "**all faults**"}.get(name, name)
        lines.append("| " + " | ".join([label, str(row["programs"]), *cells]) + " |")
    return "\n".join(lines) + "\n"


def _share(good: int, count: int) -> str:
    low, high = interval(good, count)
    return f"{100 * good / count:.0f}% ({100 * low:.0f}-{100 * high:.0f})"


def survival(varied: list[Any], rows: list[Row]) -> str:
    """The share of verdicts that are the same in other words, by variant; one that is better than before counts too."""
    first = {c.name: v for c, v in rows}
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for case, variant, _, verdicts in varied:
        for name in (variant, "**all**"):
            by[name]["programs"] += 1
            for tool, verdict in verdicts.items():
                before = first[case.name].get(tool)
                if before is not None:
                    by[name][f"{tool} asked"] += 1
                    same = before["cause"] == verdict["cause"] and before["right"] == verdict["right"]
                    by[name][tool] += same or (not before["right"] and verdict["right"])
    tools = [t for t in ("run", "check") if by["**all**"][f"{t} asked"]]
    lines = [
        "### In other words",
        "",
        "| variant | programs | " + " | ".join(f"{t}: same verdict" for t in tools) + " |",
    ]
    lines.append("| --- | ---: |" + " ---: |" * len(tools))
    for name in sorted(by, key=lambda n: (n.startswith("*"), n)):
        shares = [_share(by[name][t], by[name][f"{t} asked"]) for t in tools]
        lines.append(f"| {name} | {by[name]['programs']} | " + " | ".join(shares) + " |")
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
