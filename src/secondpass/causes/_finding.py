# SPDX-License-Identifier: BSD-3-Clause
"""Putting a finding together from what a cause has seen."""

from __future__ import annotations

from typing import Any

from ..record import Carrier, Finding, Pass, Place, Remedy, Trace
from ._reuse import Reuse
from ._source import expression, source_of

__all__ = ["about_reuse", "iterations", "pass_evidence", "quoted", "remedy"]

_SHOWN = 6


def quoted(name: str | None, otherwise: str) -> str:
    """A name for a sentence."""
    return f"`{name}`" if name else otherwise


def remedy(
    kind: str, title: str, why: str, *, safe: bool = False, target: str = "", place: Place | None = None
) -> Remedy:
    """A remedy before anybody has worked out its edits."""
    return Remedy(kind, title, safe, why, target=target, place=place)


def root_text(trace: Trace, one: Pass | None) -> str:
    """What a pass starts from, as the source writes it."""
    if one is None:
        return ""
    for place in one.stack:
        source = source_of(trace, place)
        text = expression(source.root(place.line)) if source is not None else ""
        if text:
            return text
    return ""


def _call_text(trace: Trace, one: Pass) -> str:
    source = source_of(trace, one.place)
    if source is not None and one.place is not None:
        text = source.text(one.place.line)
        if text:
            return text if len(text) <= 60 else text[:57] + "..."
    return f"a {one.kind} pass"


def pass_evidence(trace: Trace, upto: int, labels: dict[int, str] | None = None) -> list[dict[str, Any]]:
    """The last passes and steps up to a moment, for a timeline."""
    labels = labels or {}
    events: list[tuple[int, dict[str, Any]]] = []
    for p in trace.passes:
        if p.when <= upto and not p.nested:
            entry = {
                "what": "pass",
                "text": _call_text(trace, p),
                "place": _place(p.place),
                "iteration": p.iteration,
                "retain": p.retain,
                "label": labels.get(p.when, ""),
                "when": p.when,
            }
            events.append((p.when, entry))
    for s in trace.steps:
        if s.when <= upto:
            name = s.optimizer or "optimizer"
            events.append(
                (
                    s.when,
                    {"what": "step", "text": f"{name}.step()", "place": _place(s.place), "when": s.when, "label": ""},
                )
            )
    events.sort(key=lambda e: e[0])
    important = [e for e in events if e[0] in labels]
    shown = sorted({e[0]: e for e in [*important, *events[-_SHOWN:]]}.items())
    return [e[1] for _, e in shown][-(_SHOWN + 1) :]


def _place(place: Place | None) -> dict[str, Any] | None:
    return {"file": place.file, "line": place.line, "function": place.function} if place is not None else None


def iterations(reuse: Reuse) -> dict[str, Any]:
    """In which iteration the reused part was built, freed and used, and the loop that counts them."""
    facts: dict[str, Any] = {}
    freed, used = reuse.freed, reuse.used
    loop = reuse.crossed or reuse.outside
    if loop is not None:

        def count(loops: Any) -> int | None:
            return next((x.count for x in loops or () if (x.file, x.line) == (loop.file, loop.line)), None)

        facts["built_iteration"] = count(reuse.entry.loops)
        facts["freed_iteration"] = count(freed.loops) if freed is not None else None
        facts["used_iteration"] = loop.count
        facts["loop"] = {"file": loop.file, "line": loop.line}
    elif reuse.same_site and freed is not None:
        facts["freed_iteration"], facts["used_iteration"] = freed.iteration, used.iteration
    return {k: v for k, v in facts.items() if v is not None}


def about_reuse(
    code: str, cause: str, reuse: Reuse, message: str, carrier: Carrier | None, remedies: list[Remedy], **facts: Any
) -> Finding:
    """The finding of a cause of the backward-twice family."""
    freed, used = reuse.freed, reuse.used
    labels = {used.when: "failed"} | ({freed.when: "before" if reuse.changed else "freed"} if freed is not None else {})
    evidence = pass_evidence(reuse.trace, used.when, labels)
    evidence.append(
        {
            "what": "node",
            "text": f"{reuse.node.op} is the first operation whose buffers are {'not what it saved' if reuse.changed else 'gone'}",
            "op": reuse.node.op,
            "place": _place(reuse.node.place),
        }
    )
    built = reuse.place(reuse.entry, carrier.name if carrier is not None else "") or reuse.place(reuse.node)
    return Finding(
        code=code,
        cause=cause,
        severity="error",
        message=message,
        failed=reuse.failure.place,
        carrier=carrier,
        built=built,
        freed=freed.place if freed is not None else None,
        used=used.place,
        evidence=tuple(evidence),
        remedies=tuple(remedies),
        sure=freed is not None and carrier is not None and reuse.trace.producer != "postmortem",
        facts={
            "root": root_text(reuse.trace, used),
            "other_root": root_text(reuse.trace, freed),
            "built_stack": [_place(p) for p in reuse.entry.stack],
            "freed_stack": [_place(p) for p in freed.stack] if freed is not None else [],
            "used_stack": [_place(p) for p in used.stack],
            **({"changed": True} if reuse.changed else {}),
            **iterations(reuse),
            **facts,
        },
    )
