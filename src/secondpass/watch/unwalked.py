# SPDX-License-Identifier: BSD-3-Clause
"""Graphs that are built, collected and never walked: validation with gradients on.

Between two passes nobody looks, so this is read from the log when the program has ended. Told is only what is certain
from what ran: a model was switched to `eval()`, then one call of a function put value after value with history into one
container (or onto one running sum), and the next pass walked none of it.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low

from ..record import Place
from .cuts import _Search, cut_kind
from .events import PassNote
from .files import Files
from .history import Call, Executed, executed, place_of
from .lines import Log

__all__ = ["Collected", "find_collected"]

_ENOUGH = 8
_STRETCHES = 4
_MARKS = 20_000


@dataclass(frozen=True, slots=True)
class Collected:
    """What was put together without ever being walked."""

    name: str
    count: int
    nodes: int
    """Nodes behind each."""
    place: Place
    when: int
    running: bool


def find_collected(log: Log, files: Files, notes: list[PassNote]) -> list[Collected]:
    """Everything of that kind between the passes that had the most built before them."""
    pairs = [(a, b) for a, b in pairwise(notes) if a.position >= log.dropped and not b.nested]
    if not pairs:
        return []
    usual = median_low([b.entry - a.entry for a, b in pairs])
    long = [(a, b) for a, b in pairs if b.entry - a.entry > 2 * usual + _ENOUGH]
    found: dict[Place, Collected] = {}
    for a, b in sorted(long, key=lambda ab: ab[0].entry - ab[1].entry)[:_STRETCHES]:
        end = min(b.position, a.position + _MARKS)
        if not _evaluates(log, a.position, end):
            continue
        ran = executed(log, a.position, end, b.entry if end == b.position else log.number(end))
        for one in _collected(ran, files, b):
            found.setdefault(one.place, one)
    return list(found.values())


def _evaluates(log: Log, start: int, end: int) -> bool:
    """Whether a model was switched to evaluation in a stretch of the log: the quick question before the slow ones."""
    places = {(statement.file, statement.line) for _, statement in log.between(start, end)}
    texts = (linecache.getline(file, line) for file, line in places)
    return any(".eval()" in text or ".train(" in text for text in texts)


def _collected(ran: Call, files: Files, after: PassNote) -> Iterator[Collected]:
    switches = [(o.position, on) for o in _all(ran) if (on := _switches(o.node)) is not None]
    search = _Search(ran, files)
    for call in _calls(ran):
        puts: dict[tuple[int, str, bool], list[Executed]] = {}
        for one in call.body:
            put = _put(one.node)
            if put is not None:
                puts.setdefault((one.statement.line, put[0], put[2]), []).append(one)
        for (_, name, running), ones in puts.items():
            before = [on for at, on in switches if at < ones[0].position]
            if len(ones) < _ENOUGH or not before or before[-1]:
                continue  # too few, or no model was switched to evaluation
            if not all(_has_history(search, one) for one in ones[:_ENOUGH]):
                continue
            low, high = call.began, ones[-1].ended
            if after.walked is not None and any(low <= n < high for n in after.walked):
                continue
            yield Collected(name, len(ones), (high - low) // len(ones), place_of(ones[0], files), after.when, running)


def _has_history(search: _Search, one: Executed) -> bool:
    put = _put(one.node)
    if put is None or cut_kind(put[1]) is not None:
        return False
    if one.built_itself:
        return True
    for call in one.inner:
        back = call.returned()
        value = back.node.value if back is not None and isinstance(back.node, ast.Return) else None
        if back is not None and value is not None and cut_kind(value) is None:
            return back.built_itself or search.recorded_operand(value, back) is not None
    return not one.inner and search.recorded_operand(put[1], one) is not None


def _put(stmt: ast.stmt) -> tuple[str, ast.expr, bool] | None:
    """What a statement adds something to, what it adds, and whether it is a sum."""
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append" and call.args:
        return ast.unparse(call.func.value), call.args[0], False
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add):
        return ast.unparse(stmt.target), stmt.value, True
    return None


def _switches(stmt: ast.stmt) -> bool | None:
    """Whether a statement switches a model to training (True) or to evaluation."""
    call = stmt.value if isinstance(stmt, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr == "eval" and not call.args:
        return False
    if call.func.attr == "train":
        return not (call.args and isinstance(call.args[0], ast.Constant) and not call.args[0].value)
    return None


def _calls(call: Call) -> Iterator[Call]:
    yield call
    for one in call.body:
        for inner in one.inner:
            yield from _calls(inner)


def _all(call: Call) -> Iterator[Executed]:
    for one in call.body:
        yield one
        for inner in one.inner:
            yield from _all(inner)
