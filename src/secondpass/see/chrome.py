# SPDX-License-Identifier: BSD-3-Clause
"""The page's data as a Chrome trace, which Perfetto opens: iterations, passes, steps and graphs as tracks, bytes as a counter."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["events", "write"]

_TRACKS = {1: "iterations", 2: "passes", 3: "steps"}
_GRAPHS = 10
_LANES = 32


def write(data: Mapping[str, Any], path: str) -> None:
    """Writes the trace."""
    Path(path).write_text(json.dumps({"traceEvents": events(data), "displayTimeUnit": "ms"}) + "\n", encoding="utf-8")


def events(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The events, in microseconds where the run was timed, else a millisecond for each event of the program."""
    clock = _Clock(data)
    made: list[dict[str, Any]] = [_named("process_name", 0, str(data["program"].get("file") or "program"))]
    made += [_named("thread_name", track, name) for track, name in _TRACKS.items()]
    for p in data["passes"]:
        begin, end = clock.span(p)
        details = {k: p[k] for k in ("walked", "freed", "retain", "outcome")}
        made.append(_span(2, f"{p['kind']}({', '.join(p['roots'])})", begin, end, {**details, "place": _where(p)}))
    for s in data["steps"]:
        begin, end = clock.span(s)
        made.append(_span(3, f"{s['optimizer'] or 'by hand'}.step()", begin, end, {"place": _where(s)}))
    made += _iterations(data, clock)
    made += _graphs(data, clock)
    for sample in data["memory"]:
        made.append(
            {"name": "saved bytes", "ph": "C", "pid": 1, "tid": 0, "ts": clock.at(sample["at"]),
             "args": {"saved": sample["bytes"]}}
        )  # fmt: skip
    return made


class _Clock:
    """From the page's axis to microseconds."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        timed: list[tuple[float, float, float]] = [
            (e["at"], *e["seconds"]) for e in (*data["passes"], *data["steps"]) if e.get("seconds")
        ]
        self._timed = sorted(timed)
        self.last = max([e["at"] for e in (*data["passes"], *data["steps"])], default=0) + 1

    def span(self, event: Mapping[str, Any]) -> tuple[float, float]:
        if event.get("seconds"):
            begin, end = event["seconds"]
            return begin * 1e6, max(end * 1e6, begin * 1e6 + 1)
        return self.at(event["at"]), self.at(event["at"]) + 1000 * (not self._timed) + 1

    def at(self, at: float) -> float:
        """A moment between events stands where the event before it ended, or where its own began."""
        if not self._timed:
            return at * 1000
        before = [t for t in self._timed if t[0] <= at]
        after = [t for t in self._timed if t[0] > at]
        if after and after[0][0] - at < 0.5:
            return after[0][1] * 1e6
        return (before[-1][2] if before else 0.0) * 1e6


def _iterations(data: Mapping[str, Any], clock: _Clock) -> list[dict[str, Any]]:
    made, end_before = [], 0.0
    groups: list[tuple[Any, list[Any]]] = []
    for p in data["passes"]:
        key = (p["iteration"] or [None])[0]
        if groups and groups[-1][0] == key:
            groups[-1][1].append(p)
        else:
            groups.append((key, [p]))
    for k, (key, passes) in enumerate(groups):
        following = groups[k + 1][1][0]["at"] if k + 1 < len(groups) else clock.last
        inside = [e for e in (*passes, *data["steps"]) if passes[0]["at"] <= e["at"] < following]
        end = max(clock.span(e)[1] for e in inside)
        made.append(_span(1, f"iteration {key}" if key is not None else "pass", end_before, end, {}))
        end_before = end
    return made


def _graphs(data: Mapping[str, Any], clock: _Clock) -> list[dict[str, Any]]:
    """Each graph on the first lane that is free."""
    made, lanes = [], [0.0] * _LANES
    end_of_all = clock.at(clock.last) + 1
    for g in sorted(data["graphs"], key=lambda g: g["built"]):
        begin = clock.at(g["built"])
        end = clock.at(g["freed"] + 0.25) if g["freed"] is not None else end_of_all
        lane = next((k for k, free in enumerate(lanes) if free <= begin), _LANES - 1)
        lanes[lane] = end
        details = {k: g[k] for k in ("nodes", "bytes", "held_by", "cause") if g[k] is not None}
        made.append(_span(_GRAPHS + lane, f"graph of {g['name']}", begin, end, details))
    used = sum(end > 0 for end in lanes)
    return [*(_named("thread_name", _GRAPHS + k, "graphs") for k in range(used)), *made]


def _span(track: int, name: str, begin: float, end: float, details: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name, "ph": "X", "pid": 1, "tid": track, "ts": round(begin, 3), "dur": round(max(end - begin, 1), 3),
        "args": details,
    }  # fmt: skip


def _named(what: str, track: int, name: str) -> dict[str, Any]:
    return {"name": what, "ph": "M", "pid": 1, "tid": track, "args": {"name": name}}


def _where(event: Mapping[str, Any]) -> str:
    place = event["place"]
    return f"{place['file']}:{place['line']}" if place else ""
