# SPDX-License-Identifier: BSD-3-Clause
"""`retain_graph=True` that no later pass needs."""

from __future__ import annotations

from ..record import Finding, Pass, Trace
from ._finding import remedy
from ._silent import warning

CODE = "SP402"
TITLE = "retain_graph=True that no later pass needs"
REMEDIES = ("drop-retain",)


def diagnose(trace: Trace) -> list[Finding]:
    """Call sites that keep the graph every time, and whose graph was never walked again."""
    if any(not f.swallowed for f in trace.failures):
        return []
    sites: dict[object, list[Pass]] = {}
    for p in trace.passes:
        if p.retain and not p.create and not p.nested and p.place is not None:
            sites.setdefault(p.stack, []).append(p)
    found: list[Finding] = []
    seen = set()
    for passes in sites.values():
        verdicts = [_needed(trace, p) for p in passes]
        known = [v for v in verdicts if v is not None]
        place = passes[0].place
        if known and not any(known) and (len(known) > 1 or trace.ended) and place not in seen:
            seen.add(place)
            found.append(_explain(passes))
    # A line that is needed by one caller is needed.
    needed = {p.place for ps in sites.values() for p in ps if _needed(trace, p)}
    return [f for f in found if f.failed not in needed]


def _needed(trace: Trace, one: Pass) -> bool | None:
    """Whether a later pass walked what this one kept; None where it cannot be told."""
    if one.walked is None:
        return None
    own = {n for n in one.walked if n >= 0}
    later = [p for p in trace.passes if p.when > one.when]
    for p in later:
        if p.walked is not None and own & p.walked:
            return True
    # What was not looked at may have walked it, up to the next visit of this place, when the graph is another.
    until = next((p.when for p in later if p.stack == one.stack), None)
    if until is None and not trace.ended:
        return None
    if any(p.walked is None for p in later if until is None or p.when <= until):
        return None
    return False


def _explain(passes: list[Pass]) -> Finding:
    place = passes[0].place
    kept = max((p.kept_bytes or 0 for p in passes), default=0)
    cost = f"; it kept {_size(kept)} of buffers alive" if kept else ""
    message = f"retain_graph=True at {place} is not needed: no later pass walked that graph again{cost}."
    remedies = [
        remedy(
            "drop-retain",
            "leave out retain_graph=True",
            "Without it the backward frees the buffers as it goes; gradients stay the same.",
            safe=True,
            place=place,
        )
    ]
    evidence = [{"what": "bytes", "text": f"kept {_size(kept)} after the pass", "bytes": kept}] if kept else []
    return warning(CODE, "needless-retain", message, place, remedies, evidence=evidence)


def _size(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
