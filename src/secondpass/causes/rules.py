# SPDX-License-Identifier: BSD-3-Clause
"""The table that decides why a pass met freed history: the first row that fits is the cause.

A row asks only for facts of `facts.meeting`; what each fact means, and where it is observed, stands there. The order matters:
a row may rely on what the rows before it have ruled out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..record import Pass
from .facts.flow import flows_into, flows_on, is_term_of
from .facts.kept import added_to, keeping_function, kept_once
from .facts.meeting import Meeting
from .facts.operations import adds
from .facts.said import said_again
from .facts.steps import steps_in_loop

__all__ = ["ROWS", "Row", "decide", "why"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    number: int
    cause: str
    when: str
    """The condition in words."""
    fits: Callable[[Meeting], bool]


def _taken_without_graph(m: Meeting) -> bool:
    freed = m.freed
    if freed is None or freed.kind != "grad" or freed.create:
        return False
    if m.trained and freed.behind is not None and not freed.behind & m.trained:
        return False  # labels: nothing would be trained through it
    if m.used.kind == "grad" and freed.inputs is not None and not set(freed.inputs) & m.trained:
        # Two derivatives of one forward: are they terms of a loss to come?
        if m.through - set(freed.inputs) and flows_on(m.trace, freed):
            return True
    if set(freed.roots or ()) & set(m.used.roots or ()):
        return False  # what is computed from a root is no part of it
    # Gradients of what an optimizer owns, loss by loss, are wanted for themselves, unless they are a term of the loss, or the
    # loss is that of the parameters one step on.
    asked = set(freed.inputs or ())
    alone = (
        not m.trained and freed.behind is not None and freed.behind <= asked
    )  # by hand: nothing else is there to train
    if freed.inputs is not None and (asked & m.trained or alone):
        return is_term_of(m.trace, freed, m.used) or _steps_inside(m, freed)
    return flows_into(m.trace, freed, m.used)


def _steps_inside(m: Meeting, taken: Pass) -> bool:
    """Whether the failing loss is computed from all that a gradient was taken of, each with a constant added to it since: an
    inner step, as meta-learning has it."""
    made = (n for n in m.walked.values() if taken.number is not None and n.number >= taken.number and adds(n))
    moved = {n.parents[0] for n in made if n.parents is not None and len(n.parents) == 1}
    return bool(taken.inputs) and set(taken.inputs or ()) <= moved


def _piled_up(m: Meeting) -> bool:
    stays = any(b.number == m.entry.number for b in m.bound_all_along)
    if not m.new or m.born == "before the loop" or (stays and not m.store and not m.next):
        return False  # one and the same term in both sums: built once, not piled up
    if not m.earlier and not m.next:
        return False
    return (m.was_root and m.joins in ("added", "averaged")) or (m.grows and m.joins != "otherwise")


def _stored(m: Meeting) -> bool:
    if not m.new or m.born == "this iteration":
        return False
    if m.born == "before the loop" and (m.next_player or not _repeats(m)):
        return False  # one iteration's values, used by several losses, or by several players
    kept = m.still_stored and (m.again is True or added_to(m)) and m.born != "before the loop"
    several = m.stores_several is not None or kept or m.assembled
    several = (
        several
        or m.keyed
        or (m.rows is not None and (m.picked or not m.next))
        or m.sparse is not None
        or m.in_turn is not None
        or (keeping_function(m) is not None and not kept_once(m))
    )
    # A state that is also listed is carried on by its own name, unless what is taken from the list is a choice.
    listed = m.next and any(b.path.holder is None for b in (*m.bound_now, *m.bound_then))
    return several and (not listed or m.sampled is not None)


def _carried(m: Meeting) -> bool:
    if m.deepens and m.moved is not True and not m.steps_between:
        return False  # layer upon layer of one forward, with a loss at each
    if m.next:
        return True
    goes_on = m.replaced or (m.again is not False and not _kept(m))
    return m.earlier and m.kept_inside is None and bool(m.fresh) and goes_on


def _kept(m: Meeting) -> bool:
    """Whether the very value of before is still there, and was at the first pass: nothing has taken its place."""
    return m.again is None and bool(m.bound_all_along)


def _repeats(m: Meeting) -> bool:
    """Whether what both passes are in steps from turn to turn, so that one value cannot serve them all."""
    return bool(m.steps_between) or (m.outside is not None and steps_in_loop(m.trace, m.outside))


def _built_once(m: Meeting) -> bool:
    return bool(m.fresh) and _repeats(m) and (m.born == "before the loop" or (m.earlier and not m.next))


def _as_data(m: Meeting) -> bool:
    if m.in_turns:
        return False  # a loop over players: what one of them made is the others' input, and its own as well
    return _built_once(m) and bool(m.through) and m.is_data and (m.store is not None or _memo(m))


def _foreign(m: Meeting) -> bool:
    return _built_once(m) and bool(m.next_player)


def _memo(m: Meeting) -> bool:
    return any(w.kind == "call" for b in (*m.bound_now, *m.bound_then) for w in b.path.ways)


ROWS = (
    Row(1, "freed-access", "the pass that freed ran inside the failing one", lambda m: m.inside),
    Row(
        2,
        "missing-create-graph",
        "a gradient of what nobody trains, or an inner step's, was taken without a graph, and is part of the loss",
        _taken_without_graph,
    ),
    Row(
        3,
        "repeated-backward",
        "nothing new since, and the same root; or one loss, computed twice",
        lambda m: m.same_loss or said_again(m),
    ),
    Row(
        4,
        "accumulated-loss",
        "the old value was the root, or grows by its own value, and is only added to the new one",
        _piled_up,
    ),
    Row(5, "stored-history", "one holder has values of several iterations", _stored),
    Row(
        6,
        "carried-state",
        "a value of an earlier iteration, whose statement has run again since, or whose place has a newer value",
        _carried,
    ),
    Row(7, "stored-history", "built once and stored; what is behind it is trained in other ways", _as_data),
    Row(
        8,
        "crossed-networks",
        "built once, for one player's turn after the other's",
        _foreign,
    ),
    Row(9, "hoisted-forward", "one value, built once, that every turn uses", _built_once),
    Row(
        10, "crossed-networks", "the two passes belong to different players", lambda m: m.rivals or bool(m.next_player)
    ),
    Row(11, "shared-forward", "two losses of one iteration", lambda m: True),
)


def decide(meeting: Meeting) -> Row:
    """The row that fits."""
    return next(row for row in ROWS if row.fits(meeting))


def why(meeting: Meeting, row: Row) -> dict[str, Any]:
    """The row that decided, and the facts that it rests on: what `secondpass explain --why` shows."""
    store = meeting.stores_several or meeting.in_turn or meeting.store
    return {
        "row": row.number,
        "when": row.when,
        "facts": {
            "born": meeting.born,
            "again": meeting.again,
            "next": meeting.next,
            "replaced": meeting.replaced,
            "holder": [b.name for b in meeting.bound_now][:4],
            "store": store.name if store is not None else None,
            "joins": meeting.joins,
            "was root": meeting.was_root,
            "moved": meeting.moved,
            "steps between": len(meeting.steps_between),
            "players": {
                "freed": sorted(meeting.player(meeting.freed) or ()),
                "used": sorted(meeting.player(meeting.used) or ()),
            },
            "trained behind it": len(meeting.through),
            "reached only through it": len(meeting.alone),
            "entries": len(meeting.entries),
        },
    }
