# SPDX-License-Identifier: BSD-3-Clause
"""Putting findings together: sentences, evidence and places that all causes have in common."""

from __future__ import annotations

import ast
from typing import Any

from ..record import Binding, Carrier, Failure, Finding, Loop, Node, Parallel, Pass, Place, Remedy, Step, Trace
from .facts.change import Change
from .facts.lines import call_text, root_text, source_of, statement_text
from .facts.meeting import Meeting, count_of
from .facts.names import Named
from .facts.operations import is_row, is_view
from .rules import decide, why

__all__ = [
    "about_change",
    "about_meeting",
    "about_region",
    "carrier_of",
    "iterations",
    "pass_evidence",
    "place_of",
    "quoted",
    "remedy",
    "size",
    "warning",
]

_SHOWN = 6


def quoted(name: str | None, otherwise: str) -> str:
    """A name for a sentence."""
    return f"`{name}`" if name else otherwise


def remedy(
    kind: str, title: str, why: str, *, safe: bool = False, target: str = "", place: Place | None = None
) -> Remedy:
    """A remedy before anybody has worked out its edits."""
    return Remedy(kind, title, safe, why, target=target, place=place)


def carrier_of(module: Parallel | None) -> Carrier | None:
    """What a pass over several ranks goes through: the module that averages its gradients."""
    kind = "attribute" if module is not None and "." in module.name else "local"
    return Carrier(module.name, kind) if module is not None and module.name else None


def size(count: int) -> str:
    """Bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def place_of(place: Place | None) -> dict[str, Any] | None:
    """A place as evidence and facts hold it."""
    return {"file": place.file, "line": place.line, "function": place.function} if place is not None else None


def pass_evidence(
    trace: Trace, upto: int, labels: dict[int, str] | None = None, loop: Loop | None = None
) -> list[dict[str, Any]]:
    """The last passes and steps up to a moment, for a timeline. Iterations are those of `loop`, or of the innermost one; where
    no loop is known, how often the pass was made. Passes within passes are shown where there is something to say of them."""
    labels = _outer_too(trace, labels or {})
    events: list[Pass | Step] = [p for p in trace.passes if p.when <= upto and (not p.nested or p.when in labels)]
    events = sorted([*events, *(s for s in trace.steps if s.when <= upto)], key=lambda e: e.when)
    important = [e for e in events if e.when in labels]
    shown = sorted({e.when: e for e in [*important, *events[-_SHOWN:]]}.items())
    return [_evidence(trace, e, labels.get(e.when, ""), loop) for _, e in shown[-(_SHOWN + 1) :]]


def _outer_too(trace: Trace, labels: dict[int, str]) -> dict[int, str]:
    """Labels of passes with those around them: what fails within a pass fails it."""
    found = dict(labels)
    for when, label in labels.items():
        one = trace.at(when)
        if label == "failed" and one is not None and (outer := trace.around(one)) is not None:
            found.setdefault(outer.when, label)
    return found


def _evidence(trace: Trace, one: Pass | Step, label: str, loop: Loop | None) -> dict[str, Any]:
    if isinstance(one, Step):
        return {
            "what": "step",
            "text": f"{one.optimizer or 'optimizer'}.step()",
            "place": place_of(one.place),
            "when": one.when,
            "label": label,
        }
    if one.nested:
        maker = trace.maker(one)
        place = maker.place if maker is not None else one.place
        return {
            "what": "pass",
            "text": statement_text(trace, place) if maker is not None else f"a {one.kind} pass",
            "place": place_of(place),
            "nested": True,
            "retain": one.retain,
            "label": label,
            "when": one.when,
        }
    return {
        "what": "pass",
        "text": call_text(trace, one),
        "place": place_of(one.place),
        "iteration": _iteration(one, loop),
        "retain": one.retain,
        "label": label,
        "when": one.when,
    }


def _iteration(one: Pass, loop: Loop | None) -> int | None:
    counted = count_of(one.loops, loop) if loop is not None else None
    if counted is None and one.loops:
        counted = one.loops[0].count
    return one.iteration if counted is None else counted


def iterations(meeting: Meeting) -> dict[str, Any]:
    """In which iteration the reused part was built, freed and used, and the loop that counts them."""
    facts: dict[str, Any] = {}
    freed, used = meeting.freed, meeting.used
    if meeting.inside:
        return facts  # both are parts of one pass
    loop = meeting.crossed or meeting.outside
    if loop is not None:
        facts["built_iteration"] = count_of(meeting.entry.loops, loop)
        facts["freed_iteration"] = count_of(freed.loops, loop) if freed is not None else None
        facts["used_iteration"] = loop.count
        facts["loop"] = {"file": loop.file, "line": loop.line}
    elif meeting.same_site and freed is not None:
        facts["freed_iteration"], facts["used_iteration"] = freed.iteration, used.iteration
        facts["loop"] = _loop_around(meeting.trace, used.place)
    return {k: v for k, v in facts.items() if v is not None}


def _under_way(meeting: Meeting) -> list[dict[str, Any]]:
    """The outer frames that were at one and the same statement from the first pass to the second: what is repeated lies in
    something that it called (a framework's loop), and nothing that stands behind it comes in between."""
    freed, used, trace = meeting.freed, meeting.used, meeting.trace
    found: list[dict[str, Any]] = []
    new = {place for n in meeting.new for place in _statements(trace, n.stack)}
    if freed is None or not new:
        return found
    for one, other in zip(_statements(trace, freed.stack), _statements(trace, used.stack), strict=False):
        elsewhere = any((p.file, p.function) == (one.file, one.function) and p.line != one.line for p in new)
        source = source_of(trace, one)
        around = [Loop(one.file, loop.lineno, 0) for loop in source.loops(one.line)] if source is not None else []
        counts = [(count_of(freed.loops, x), count_of(used.loops, x)) for x in around]
        if one != other or elsewhere or any(first is None or first != last for first, last in counts):
            break
        found.append({"file": one.file, "line": one.line})
    return found


def _statements(trace: Trace, stack: tuple[Place, ...]) -> list[Place]:
    """The statements that some frames were at, outermost first; each by the line that it begins on."""
    known = [(p, s.statement(p.line)) for p in reversed(stack) if (s := source_of(trace, p)) is not None]
    return [Place(p.file, node.lineno, p.function) for p, node in known if node is not None]


def _loop_around(trace: Trace, place: Place | None) -> dict[str, Any] | None:
    """The innermost loop around a line, where nobody has counted loops: the source tells."""
    source = source_of(trace, place)
    loops = source.loops(place.line) if source is not None and place is not None else ()
    return {"file": place.file, "line": loops[0].lineno} if loops and place is not None else None


def about_meeting(
    code: str, cause: str, meeting: Meeting, message: str, carrier: Carrier | None, remedies: list[Remedy], **facts: Any
) -> Finding:
    """The finding of a cause of the backward-twice family."""
    freed, used, trace = meeting.freed, meeting.used, meeting.trace
    labels = {used.when: "failed"}
    if freed is not None:
        labels[freed.when] = "before" if meeting.changed else "freed"
    evidence = pass_evidence(trace, used.when, labels, meeting.crossed or meeting.outside)
    state = "not what it saved" if meeting.changed else "gone"
    first = trace.nodes.get(meeting.failure.node or 0, meeting.node)
    evidence.append(
        {
            "what": "node",
            "text": f"{first.op} is the first operation whose saved tensors are {state}",
            "op": first.op,
            "place": place_of(first.place),
        }
    )
    if freed is not None and freed.place == used.place and (ways := _ways_in(freed, used)):
        evidence.append({"what": "note", "text": ways})
    named = Named(meeting)
    entry = meeting.entry
    walked = freed.walked if freed is not None else None
    while (_is_taken_apart(trace, entry) or _is_aside(entry, walked)) and (
        behind := [n for k in entry.parents or () if (n := trace.nodes.get(k)) and n.leaf is None]
    ):
        entry = behind[0]  # a loop over a tensor takes its rows; what made them stands elsewhere
    built = named.place(entry, carrier.name if carrier is not None else "") or named.place(meeting.node)
    return Finding(
        code=code,
        cause=cause,
        severity="error",
        message=message,
        failed=meeting.failure.place,
        carrier=carrier,
        built=built,
        freed=freed.place if freed is not None else None,
        used=used.place,
        evidence=tuple(evidence),
        remedies=tuple(remedies),
        sure=freed is not None and carrier is not None and trace.producer != "postmortem",
        facts={
            "root": root_text(trace, used),
            "other_root": root_text(trace, freed),
            "built_stack": [place_of(p) for p in meeting.entry.stack],
            "freed_stack": [place_of(p) for p in freed.stack] if freed is not None else [],
            "used_stack": [place_of(p) for p in used.stack],
            "why": why(meeting.origin or meeting, decide(meeting.origin or meeting)),
            "paths": list({(b.name, b.function): _path(b) for b in meeting.handed_on}.values()),
            **_owners(trace, meeting.leaves),
            **({"under_way": under_way} if (under_way := _under_way(meeting)) else {}),
            **({"stays": True} if meeting.stays else {}),
            **({"sampled": str(meeting.sampled)} if meeting.sampled is not None else {}),
            **({"changed": True} if meeting.changed else {}),
            **iterations(meeting),
            **facts,
        },
    )


def _ways_in(freed: Pass, used: Pass) -> str:
    """Which calls two passes of one statement came from, where these differ."""
    for then, now in zip(freed.stack, used.stack, strict=False):
        if (then.file, then.line) != (now.file, now.line):
            return f"freed when {then} called it, needed again when {now} did"
    return ""


def _is_aside(entry: Node, walked: frozenset[int] | None) -> bool:
    """Whether a node only shows a part of what the first pass went through, and is no part of it: it was made to be kept."""
    return walked is not None and entry.number not in walked and is_view(entry)


def _is_taken_apart(trace: Trace, entry: Node) -> bool:
    """Whether a node gives a loop, or a store, the parts of a tensor."""
    source = source_of(trace, entry.place)
    stmt = source.statement(entry.place.line) if source is not None and entry.place is not None else None
    return is_row(entry) or (is_view(entry) and isinstance(stmt, (ast.For, ast.AsyncFor, ast.Expr)))


def _owners(trace: Trace, leaves: set[int]) -> dict[str, Any]:
    """The optimizers, and those of them that own some of these leaves."""
    owners = [o for o in trace.owners if o.alive is not False]
    return {
        "owners": [o.name for o in owners],
        "owners_behind": [o.name for o in owners if leaves & set(o.leaves)],
    }


def _leaves(trace: Trace, number: int) -> set[int]:
    return {n.number for n in trace.history(number) if n.leaf is not None}


def _path(seen: Binding) -> dict[str, Any]:
    """A path that was seen to lead to history, as facts hold it."""
    path = seen.path
    return {
        "root": path.root,
        "scope": path.scope,
        "type": path.type,
        "ways": [[w.kind, w.key, w.type] for w in path.ways],
        "function": seen.function,
    }


def about_region(
    code: str, cause: str, trace: Trace, failure: Failure, message: str, remedies: list[Remedy]
) -> Finding:
    """A finding about a pass over a compiled region."""
    used: Pass | None = trace.at(failure.when)
    compiled = [n for n in trace.nodes.values() if n.op.startswith("CompiledFunction")]
    region = max(compiled, key=lambda n: n.number, default=None)
    return Finding(
        code,
        cause,
        "error",
        message,
        failed=failure.place,
        built=region.place if region is not None else None,
        used=failure.place,
        evidence=tuple(pass_evidence(trace, failure.when, {failure.when: "failed"})),
        remedies=tuple(remedies),
        facts={"root": root_text(trace, used), "used_stack": [place_of(p) for p in failure.stack], "compiled": True},
    )


def about_change(code: str, cause: str, change: Change, message: str, remedies: list[Remedy]) -> Finding:
    """The finding of an in-place error: built is the forward, freed is the writer."""
    write, used = change.write, change.used
    labels = {change.failure.when: "failed"}
    if change.step is not None:
        labels[change.step.when] = "changed"
    evidence: list[dict[str, Any]] = pass_evidence(change.trace, change.failure.when, labels)
    if change.node is not None:
        op = change.node.op
        evidence.append({"what": "node", "text": f"{op} saved it (as `{change.failure.saved}`)", "op": op})
    if change.is_parameter:
        carrier = change.carrier()
    else:
        name = write.target if write and write.target else next(iter(change.failure.names), "")
        carrier = Carrier(name, "local") if name else None
    return Finding(
        code=code,
        cause=cause,
        severity="error",
        message=message,
        failed=change.failure.place,
        carrier=carrier,
        built=change.node.place if change.node is not None else None,
        freed=write.place if write is not None else None,
        used=used.place if used is not None else None,
        evidence=tuple(evidence),
        remedies=tuple(remedies),
        sure=write is not None and write.place is not None,
        facts={
            "kept_apart": change.kept_apart,
            "root": root_text(change.trace, used),
            "writer": place_of(write.place) if write is not None else None,
            "how": write.how if write is not None else "",
            "used_stack": [place_of(p) for p in used.stack] if used is not None else [],
            "built_stack": [place_of(p) for p in change.node.stack] if change.node is not None else [],
            **(_owners(change.trace, _leaves(change.trace, change.node.number)) if change.node is not None else {}),
        },
    )


def warning(
    code: str,
    cause: str,
    message: str,
    place: Place | None,
    remedies: list[Remedy],
    *,
    carrier: Carrier | None = None,
    evidence: list[dict[str, Any]] | None = None,
    **facts: Any,
) -> Finding:
    """A finding about a program that did not fail: it points at the line to change."""
    built, freed, used = facts.pop("built", None), facts.pop("freed", None), facts.pop("used", None)
    return Finding(
        code,
        cause,
        "warning",
        message,
        place,
        carrier,
        built,
        freed,
        used,
        tuple(evidence or ()),
        tuple(remedies),
        facts=facts,
    )
