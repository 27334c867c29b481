# SPDX-License-Identifier: BSD-3-Clause
"""History that is collected and never used: containers and sums that grow from pass to pass, and what an evaluation with
gradients on puts together between two passes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from ...record import Binding, Holding, Path, Place, Trace
from ...source import STORES, Source, assigned, effects, heads
from .cut import Search
from .executed import Run, calls_in, ran, recorded
from .lines import source_of, sources_of, unparsed

__all__ = ["Collected", "Growth", "built_at", "filled_at", "grown_at", "growths", "is_read", "unwalked"]

_GROWTHS = 5
"""How often it must have grown: a window of a few values fills up as well."""
_GROWTHS_EACH = 3
"""How often in one stretch, where there are several."""
_ENOUGH = 8
_MANY = 12


@dataclass(frozen=True, slots=True)
class Growth:
    """A container, or a sum, that had more history at pass after pass."""

    path: Path
    seen: tuple[tuple[int, int], ...]
    """When, and how many tensors with history (or how long a chain)."""
    running: bool
    single: bool | None
    nodes: int | None = None
    bytes: int | None = None
    hooks: int | None = None
    numbers: frozenset[int] = frozenset()
    """What was in it when it was last seen."""
    within: bool = False
    """Whether its tensors lie in tuples or records that were put into it as a whole."""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def most(self) -> int:
        return max(count for _, count in self.seen)

    @property
    def begins_anew(self) -> bool:
        """Whether it was emptied, or made again, in between."""
        return any(after < before for (_, before), (_, after) in pairwise(self.seen))


def growths(trace: Trace) -> Iterator[Growth]:
    """Everything that grew, often enough, without being emptied in between or walked by a later pass."""
    held: dict[tuple[str, bool], list[Holding]] = {}
    walked = {n for p in trace.passes for n in p.walked or ()}
    for h in trace.holdings:
        held.setdefault((h.name, h.hooks is not None), []).append(h)
    for (_, hooked), seen in held.items():
        counts = [(h.when, (h.hooks or 0) if hooked else h.count) for h in seen]
        # What has nothing left of what was there before was emptied in between, be it longer now: an episode, a batch.
        stays = [hooked or not set(a.numbers).isdisjoint(b.numbers) for a, b in pairwise(seen)]
        grew = _grew(counts, stays)
        if not grew and _whole_graphs(seen, walked):
            # In containers within it: of itself it has as many entries as before.
            grew, counts = True, [(h.when, len(h.numbers)) for h in seen]
        if grew and not _walked_later(trace, [(h.when, h.numbers) for h in seen]):
            last = max(seen, key=lambda h: (h.count, len(h.numbers)))
            measured = next((h for h in reversed(seen) if h.nodes is not None), None)
            yield Growth(
                last.path,
                tuple(counts),
                False,
                last.single,
                measured.nodes if measured is not None else None,
                measured.bytes if measured is not None else None,
                last.hooks,
                frozenset(seen[-1].numbers),
                bool(last.within),
            )
    named: dict[str, list[Binding]] = {}
    for b in trace.bindings:
        named.setdefault(b.name, []).append(b)
    for seen_bindings in named.values():
        yield from _running(trace, seen_bindings)


def _running(trace: Trace, seen: list[Binding]) -> Iterator[Growth]:
    """A sum that was built from what the same name held before: its history grows."""
    last, length = -1, 0
    counts: list[tuple[int, int]] = []
    each: tuple[int | None, int | None] = None, None
    for b in seen:
        if b.number != last:
            length = length + 1 if last in b.terms else 0
            last = b.number
        if length:
            counts.append((b.when, length))
            if b.nodes is not None and b.bytes is not None:
                each = b.nodes // length, b.bytes // length
    if counts and _grew([(seen[0].when, 0), *counts], [True] * len(counts)):
        numbers: list[tuple[int, tuple[int, ...]]] = [(b.when, (b.number,)) for b in seen]
        if not _walked_later(trace, numbers):
            yield Growth(seen[-1].path, tuple(counts), True, seen[-1].single, *each)


def _grew(counts: list[tuple[int, int]], stays: list[bool]) -> bool:
    """:param stays: for each two that follow each other, whether something of the first is still there in the second"""
    best = run = total = 0
    for ((_, before), (_, after)), stayed in zip(pairwise(counts), stays, strict=True):
        grown = stayed and after > before
        run = run + 1 if grown else 0 if after < before or not stayed else run
        best, total = max(best, run), total + grown
    # What is begun anew in every epoch shows by growing in each of them.
    return best >= _GROWTHS or (best >= _GROWTHS_EACH and total >= 2 * _GROWTHS)


def _whole_graphs(seen: list[Holding], walked: set[int]) -> bool:
    """Whether it grew to many tensors with nothing behind them that any pass has walked: those keep all that was saved, and
    fewer of them are no window of a few values."""
    last = seen[-1]
    grown = sum(len(a.numbers) < len(b.numbers) for a, b in pairwise(seen))
    shrunk = any(len(a.numbers) > len(b.numbers) for a, b in pairwise(seen))
    return grown >= _GROWTHS_EACH and not shrunk and len(last.numbers) >= _MANY and walked.isdisjoint(last.numbers)


def _walked_later(trace: Trace, seen: list[tuple[int, tuple[int, ...]]]) -> bool:
    """Whether it is kept for a pass: one walked several of its values after they had been seen there, or one that had been
    there when the same call was made before. (That two losses of one iteration use what is also kept says nothing.)"""
    first: dict[int, int] = {}
    for when, numbers in seen:
        for n in numbers:
            first.setdefault(n, when)
    before: dict[object, int] = {}
    for p in trace.passes:
        if p.walked is not None:
            old = [when for n, when in first.items() if n in p.walked and when < p.when]
            if len(old) > 1 or any(when <= before.get(p.stack, -1) for when in old):
                return True
        before[p.stack] = p.when
    return False


# -- where it is filled ------------------------------------------------------------------------------------------------------


def filled_at(trace: Trace, name: str, stack: Iterable[Place], *, running: bool = False) -> tuple[Place | None, str]:
    """The line that adds to a holder, and how that line writes it. `stats.outputs` may be `self.outputs` there.

    `stack`: what was under way when it was seen.
    """
    shown, name = name, unparsed(name)
    attribute = name.rpartition(".")[2] if "." in name else None
    ran_there = {(p.file, p.line) for p in trace.called} if trace.called is not None else None
    # The name is one of the functions that were under way when it was seen; another function's may be spelled alike.
    under_way = {(at.file, at.function) for at in stack}
    best: tuple[tuple[int, int, bool, bool, bool], Place, str] | None = None
    for file, source in sources_of(trace):
        methods = {} if running else _methods(source)
        for stmt in source.statements:
            for target in (*_adds_to(stmt, running), *_adds_by_name(stmt, methods)):
                own = bool(attribute) and target == f"self.{attribute}"
                rank = 0 if target == name else 1 if own else 2 if _same_end(target, name) else 9
                if rank == 9 and "[" in name and target.startswith("self.") and _is_container(source, stmt.lineno):
                    rank = 3  # a class of the user's that is itself the dictionary
                place = Place(file, stmt.lineno, source.function_name(stmt.lineno))
                missed = 0 if ran_there is None or (file, stmt.lineno) in ran_there else 1
                away = (file, place.function) not in under_way
                order = (missed, rank, _makes_room(stmt), away, not source.loops(stmt.lineno))
                if rank < 9 and (best is None or order < best[0]):
                    best = (order, place, target)
    if best is None:
        return _filled_in_window(trace, shown, running), ""
    return best[1], best[2] if best[0][1] == 1 else shown


def built_at(trace: Trace, name: str) -> Place | None:
    """The statement that recorded the last of what a holder was seen to have, of what ran in the window."""
    runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
    held = {n for h in trace.holdings if h.name == name for n in h.numbers}
    built = (recorded(runs, n) for n in sorted(held, reverse=True))
    return next((one.place for one in built if one is not None), None)


def grown_at(trace: Trace, name: str) -> Place | None:
    """The statement that recorded what a name held last: it grew there, whatever the source calls it."""
    places = [trace.nodes[b.number].place for b in trace.bindings if b.name == name and b.number in trace.nodes]
    return places[-1] if places else None


def is_read(trace: Trace, name: str, filled: Place | None) -> bool:
    """Whether the function that fills a container reads it elsewhere, to make something of what is in it."""
    source = source_of(trace, filled)
    if source is None or filled is None:
        return False
    own = unparsed(name).rpartition(".")[2]
    calls = [n for n in ast.walk(source.function(filled.line)) if isinstance(n, ast.Call)]
    counted = {id(n) for c in calls if ast.unparse(c.func) == "len" for n in ast.walk(c)}
    given = (n for c in calls for a in c.args for n in ast.walk(a))
    return any(_last_of(n) == own and id(n) not in counted for n in given)


def _last_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _filled_in_window(trace: Trace, name: str, running: bool) -> Place | None:
    """The statement that was seen to add to a holder that the source calls by another name there: what recorded a value that
    it had, or a store into what the caller gave under that name."""
    runs = ran(replace(trace, executed=trace.window.executed)) if trace.window is not None else []
    search = Search(runs)
    search.trained = frozenset({name})
    numbers = {b.number for b in trace.bindings if b.name == name} if running else set()
    for one in reversed(runs):
        if hasattr(one.node, "body"):
            continue
        if running:
            inside = [c for c in one.inner if any(c.began <= n < c.ended for n in numbers)]
            if one.targets and not inside and any(one.began <= n < one.ended for n in numbers):
                return one.place
        elif any(search.known_as(t, one) == name for t in _adds_to(one.node, running=False)):
            return one.place
    return None


def _adds_to(stmt: ast.stmt, running: bool) -> Iterator[str]:
    if not running:
        yield from (ast.unparse(e.target) for e in effects(stmt, "store") if e.target is not None)
    elif isinstance(stmt, ast.AugAssign):
        yield ast.unparse(stmt.target)
    elif isinstance(stmt, ast.Assign):
        own = [ast.unparse(t) for t in assigned(stmt)]
        inside = (n for n in ast.walk(stmt.value) if isinstance(n, ast.expr) and n is not stmt.value)
        if len(own) == 1 and any(ast.unparse(n) == own[0] for n in inside):
            yield own[0]


def _makes_room(stmt: ast.stmt) -> bool:
    """Whether what a statement stores is an empty container, for others to fill."""
    value = stmt.value if isinstance(stmt, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.Call):
        return not (value.args or value.keywords) and ast.unparse(value.func) in ("list", "dict", "set", "deque")
    return not (value.elts if isinstance(value, ast.List) else value.values if isinstance(value, ast.Dict) else [value])


def _methods(source: Source) -> dict[str, str]:
    """Methods that store and have a name of their own (`remember = losses.append`), with what they add to."""
    made = (s for s in source.statements if isinstance(s, ast.Assign))
    return {
        ast.unparse(target): ast.unparse(s.value.value)
        for s in made
        if isinstance(s.value, ast.Attribute) and s.value.attr in STORES
        for target in s.targets
    }


def _adds_by_name(stmt: ast.stmt, methods: dict[str, str]) -> Iterator[str]:
    calls = (n for part in heads(stmt) for n in ast.walk(part) if isinstance(n, ast.Call) and n.args) if methods else ()
    yield from (methods[name] for c in calls if (name := ast.unparse(c.func)) in methods)


def _is_container(source: Source, line: int) -> bool:
    """Whether a line stands in a class that is a dictionary or a list."""
    classes = [s for s in source.path(line) if isinstance(s, ast.ClassDef)]
    return any(ast.unparse(b).rpartition(".")[2].lower().endswith(("dict", "list")) for c in classes for b in c.bases)


def _same_end(target: str, name: str) -> bool:
    end = target.partition("[")[0].rpartition(".")[2]
    return bool(end) and end == name.partition("[")[0].rpartition(".")[2]


# -- between two passes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Collected:
    """What was put together without ever being walked."""

    name: str
    count: int
    nodes: int
    """Nodes behind each."""
    place: Place
    running: bool


def unwalked(trace: Trace) -> list[Collected]:
    """What one call of a function put, value after value with history, into one container (or onto one sum) after a model was
    switched to evaluation, and of which the next pass walked nothing."""
    found: dict[Place, Collected] = {}
    for stretch in trace.stretches:
        runs = ran(replace(trace, executed=stretch.executed))
        after = trace.at(stretch.when)
        for one in _collected(runs, after.walked if after is not None else None):
            found.setdefault(one.place, one)
    return list(found.values())


def _collected(runs: list[Run], walked: frozenset[int] | None) -> Iterator[Collected]:
    switches = [(r.position, on) for r in runs if (on := _switches(r.node)) is not None]
    if all(on for _, on in switches):
        return
    search = Search(runs)
    for call in calls_in(runs):
        puts: dict[tuple[int, str, bool], list[Run]] = {}
        for one in call.body:
            put = _put(one.node)
            if put is not None:
                puts.setdefault((one.place.line, put[0], put[2]), []).append(one)
        for (_, name, running), ones in puts.items():
            before = [on for at, on in switches if at < ones[0].position]
            if len(ones) < _ENOUGH or not before or before[-1]:
                continue  # too few, or no model was switched to evaluation
            if not all(_has_history(search, one) for one in ones[:_ENOUGH]):
                continue
            low, high = call.began, ones[-1].ended
            if walked is not None and any(low <= n < high for n in walked):
                continue
            yield Collected(name, len(ones), (high - low) // len(ones), ones[0].place, running)


def _has_history(search: Search, one: Run) -> bool:
    put = _put(one.node)
    return put is not None and search.has(put[1], one)


def _put(stmt: ast.stmt) -> tuple[str, ast.expr, bool] | None:
    """What a statement adds something to, what it adds, and whether it is a sum."""
    if isinstance(stmt, ast.AugAssign) and isinstance(stmt.op, ast.Add):
        return ast.unparse(stmt.target), stmt.value, True
    effect = next((e for e in effects(stmt, "store") if e.how != "[...] ="), None)
    if effect is None or effect.target is None or effect.value is None:
        return None
    return ast.unparse(effect.target), effect.value, False


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
