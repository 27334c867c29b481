# SPDX-License-Identifier: BSD-3-Clause
"""Choosing what to hold: the least time to compute again that fits the budget.

NOTE [ Planning ]
1. What is known after a forward: which values were saved, how large they are, which operation computes each, from what,
   and how long that took.
2. A value may be dropped if its operations can be run again from what is held. Values that another segment is computed
   from are anchors. An anchor is dropped only if a few operations without a matrix product compute it from what is held;
   what they need is then held for certain. So a segment is computed on its own, and no chain of them ever is.
3. Values are dropped in the order of the time that it costs to save a byte by them. An operation that is run again for
   one value costs nothing for the next.
4. While a pass goes through a segment, what was dropped of it comes back. How much that is at once is found out by going
   through the segment as a pass will. It is less if cheap values are computed whenever they are read (`lean`), and less
   again if the later half is computed first, and the earlier half when the pass comes to it (`splits`).
5. Autocast holds the parameters that it has cast until it ends, which may be after the forward. Dropping them saves
   nothing before that: so they must fit beside what is held, and what a segment of the forward makes besides.
6. What the user holds as a result is alive whether it is dropped or not. So it counts, and no budget is met by it.
7. Of all ways to meet the budget the one that takes the least time is chosen.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from ..recompute.functions import traits
from ..recompute.op import MADE, PARAMETER, Op, Value
from ..recompute.replay import closure
from ..saved.mask import LEAST, bits_of

__all__ = ["Choice", "Planner"]

_FEW = 8  # operations that may compute an anchor
_QUICK = 3  # operations that a cheap value takes at most
_CALL = 3e-5  # seconds: what running any operation takes the host besides, and writing it down before
_READ = 3e-5  # seconds: what it takes to begin
_JOINS = {torch.cat, torch.concat, torch.concatenate}
_WAYS = ((False, False), (False, True), (True, False), (True, True))
"""Lean or not, in halves or not: see NOTE [ Planning ] 4."""


@dataclass(frozen=True)
class Choice:
    """What is dropped, and how it comes back."""

    dropped: frozenset[Value]
    cheap: frozenset[Value]
    lean: bool
    splits: dict[int, int]
    bits: bool
    """Masks are held as bits."""
    peak: int
    seconds: float


class _Segment:
    """The readers of a segment, from the last to the first: as a pass comes to them."""

    def __init__(self) -> None:
        self.readers: list[tuple[int, Value]] = []


class Planner:
    """See NOTE [ Planning ]."""

    def __init__(
        self,
        ops: Sequence[Op],
        places: Iterable[tuple[int, int, Value]],
        fixed: int,
        costs: Callable[[Op], float],
        results: frozenset[Value] = frozenset(),
    ) -> None:
        self._ops, self.fixed, self._costs, self._results = ops, fixed, costs, results
        self.values: dict[Value, None] = {}
        """What is saved, in order."""
        self._segments: dict[int, _Segment] = {}
        by_number = {op.number: op for op in ops}
        self._readers: dict[Value, list[int]] = {}
        for number, _, value in places:
            self.values[value] = None
            op = by_number.get(number)
            segment = value.segment if op is None else op.segment
            self._segments.setdefault(segment, _Segment()).readers.append((number, value))
            self._readers.setdefault(value, []).append(segment)
        for known in self._segments.values():
            known.readers.sort(key=lambda reader: -reader[0])
        self._anchors = self._find_anchors()
        self.bits = [value for value in self.values if value.why == "noise" and _two_valued(value)]
        self.droppable = [value for value in self.values if self._may_drop(value)]
        self._orders: dict[bool, list[Value]] = {}
        self._known: dict[Any, tuple[int, int, float]] = {}

    # What is what ----------------------------------------------------------------------------------------------------

    def _find_anchors(self) -> set[Value]:
        """Values that are read in another segment than their own."""
        found = {value for value, segments in self._readers.items() if any(s != value.segment for s in segments)}
        for op in self._ops:
            for value in op.needs():
                if value.kind is MADE and value.segment != op.segment:
                    found.add(value)
        return found

    def _may_drop(self, value: Value) -> bool:
        if not value.droppable:
            return False
        ops = closure([value], lambda other: self.present(other, frozenset()))
        return ops is not None

    def anchor(self, value: Value) -> bool:
        return value in self._anchors

    def present(self, value: Value, dropped: frozenset[Value] | set[Value]) -> bool:
        if value.kind is not MADE:
            return value.kind is PARAMETER or not value.written
        if value.tokens:
            return value not in dropped and not value.written
        return value in self._anchors and not value.written  # it will be held for this

    def bridges(self, dropped: Iterable[Value]) -> set[Value]:
        """Values that nobody saved, and that are held because what is dropped is computed from them."""
        gone = frozenset(dropped)
        needed = {value for op in self._needed(list(gone), gone) for value in op.needs()}
        return {v for v in needed if not v.tokens and v.kind is not PARAMETER and self.present(v, gone)}

    def _needed(self, values: list[Value], dropped: frozenset[Value] | set[Value]) -> list[Op]:
        ops = closure(values, lambda value: self.present(value, dropped))
        assert ops is not None
        return ops

    # Bytes and time --------------------------------------------------------------------------------------------------

    @property
    def full(self) -> int:
        """What retain_graph=True holds."""
        return sum(value.counted for value in self.values)

    def reserve(self, lean: bool) -> int:
        """Room for gradients on their way, where they take most."""
        return max((self._gradients(segment, lean) for segment in self._segments), default=0)

    def _gradients(self, segment: int, lean: bool) -> int:
        """Room for the gradients on their way through a segment.

        An activation's gradient comes and goes at once, both of the size of the largest saved tensor. Or a product has
        its gradient, its weight's, and its input, if that is made only now. Meanwhile the gradient of the segment's
        result waits to be added, and a dropout may have made another of that size. Gradients of what later segments
        have read, and earlier ones made, wait until the pass comes there.
        """
        largest, cheap, edge, weight, waiting = self._sizes.get(segment, (0, 0, 0, 0, 0))
        return waiting + max(2 * largest + edge, largest + (cheap if lean else 0) + weight + 2 * edge)

    def _arriving(self, segment: int) -> int:
        """The gradients that there are when a pass comes to a segment: that of its result, and those that wait."""
        _, _, edge, _, waiting = self._sizes.get(segment, (0, 0, 0, 0, 0))
        return waiting + 2 * edge

    @cached_property
    def _sizes(self) -> dict[int, tuple[int, int, int, int, int]]:
        """Of each segment: the largest saved tensor, the largest that takes no product, what enters or leaves, the
        largest weight, and what waits meanwhile."""
        largest: dict[int, int] = {}
        cheap: dict[int, int] = {}
        edge: dict[int, int] = {}
        weight: dict[int, int] = {}
        scratch: dict[int, int] = {}
        for value, segments in self._readers.items():
            if value.op is not None and value.slot[0] == "pack" and traits(value.op.func).recurrent:
                for segment in segments:  # there is no gradient of its workspace, but the kernel takes another one
                    scratch[segment] = max(scratch.get(segment, 0), value.counted)
                continue
            for segment in segments:
                largest[segment] = max(largest.get(segment, 0), value.counted)
                if value.op is not None and not traits(value.op.func).heavy:
                    cheap[segment] = max(cheap.get(segment, 0), value.counted)
                if value in self._anchors:
                    edge[segment] = max(edge.get(segment, 0), value.counted)
        spans: dict[Value, int] = {}
        sizes: dict[Value, int] = {}
        for op in self._ops:
            for leaf, _, learns in op.leaves:
                if learns:
                    weight[op.segment] = max(weight.get(op.segment, 0), leaf.nbytes)
            for ref in op.inputs:
                if ref.requires_grad and ref.value.kind is MADE and op.segment > ref.value.segment:
                    spans[ref.value] = max(spans.get(ref.value, 0), op.segment)
                    if op.func in _JOINS:  # the gradient is a part of a larger one, and holds all of it
                        parts = sum(other.form.shape.numel() * other.form.dtype.itemsize for other in op.inputs)
                        sizes[ref.value] = max(sizes.get(ref.value, 0), parts)
        for value in self._anchors:
            edge[value.segment] = max(edge.get(value.segment, 0), value.counted)
        waiting = scratch
        for value, last in spans.items():
            for segment in range(value.segment + 1, last):
                waiting[segment] = waiting.get(segment, 0) + sizes.get(value, value.nbytes)
        columns = (largest, cheap, edge, weight, waiting)
        return {segment: tuple(column.get(segment, 0) for column in columns) for segment in self._segments}  # type: ignore[misc]

    def _base(self, dropped: frozenset[Value], masks: bool) -> int:
        """What is held for all passes."""
        bits = {value: bits_of(value.nbytes, value.dtype) for value in self.bits} if masks else {}
        held = sum(bits.get(v, v.counted) for v in self.values if v not in dropped or v in self._results)
        return self.fixed + held + sum(value.nbytes for value in self.bridges(dropped))

    def _forward(self, dropped: frozenset[Value]) -> int:
        """The most that a segment makes in the forward and that is not held: some of it lives until the segment ends."""
        sizes = dict(self._passing)
        for value in dropped:
            if value.slot[0] != "out" or value.op is None or value.op.cast is None:
                sizes[value.segment] = sizes.get(value.segment, 0) + value.counted
        return max(sizes.values(), default=0)

    @cached_property
    def _passing(self) -> dict[int, int]:
        """Of each segment: the bytes that it makes, and that nobody saves."""
        found: dict[int, int] = {}
        for op in self._ops:
            found[op.segment] = found.get(op.segment, 0) + sum(v.nbytes for v in op.made() if not v.tokens)
        return found

    @staticmethod
    def cached(dropped: Iterable[Value]) -> int:
        """See NOTE [ Planning ] 5."""
        casts = ((value.counted, value.op) for value in dropped if value.op is not None)
        return sum(size for size, op in casts if isinstance(op.cast, torch.Tensor) and op.leaves[0][2])

    def outlay(self, choice: Choice, segment: int) -> int:
        """What is held for all passes, and room for the gradients in a segment and a cheap value that is computed."""
        gone = choice.dropped - choice.cheap
        cheap = 0
        for value in choice.cheap:
            if segment in self._readers[value]:
                ops = closure([value], lambda other: self.present(other, choice.cheap)) or ()
                cheap = max(cheap, sum(made.nbytes for op in ops for made in op.made() if made not in gone))
        return self._base(choice.dropped, choice.bits) + self._gradients(segment, choice.lean) + cheap

    def measure(self, dropped: frozenset[Value], lean: bool, split: bool, bits: bool = True) -> Choice:
        """What it would take to drop these."""
        cheap = self._cheap(dropped)
        most, seconds = 0, 0.0
        splits: dict[int, int] = {}
        for segment in self._segments:
            border = self._middle(segment, dropped, cheap) if split else 0
            first, work, time = self._work(segment, dropped, cheap if lean else frozenset(), border)
            if border:
                splits[segment] = border
            most = max(most, first + self._arriving(segment), work + self._gradients(segment, lean))
            seconds += time
        cached = self.cached(dropped)
        if cached:
            most = max(most, cached + self._forward(dropped))
        peak = self._base(dropped, bits) + most
        return Choice(dropped, cheap, lean, splits, bits, peak, seconds)

    def _cheap(self, dropped: frozenset[Value]) -> frozenset[Value]:
        """Of what is dropped: what takes no matrix product to compute from what is held, or waits for its readers."""
        found: set[Value] = set()
        for value in sorted(dropped, key=_number):
            ops = closure([value], lambda other: self.present(other, found))
            if ops is not None and value.slot[0] != "pack" and len(ops) <= _QUICK:
                if not any(traits(op.func).heavy for op in ops):
                    found.add(value)
        return frozenset(found)

    def _middle(self, segment: int, dropped: frozenset[Value], cheap: frozenset[Value]) -> int:
        """The operation that parts what waits in a segment into two halves."""
        mine = sorted({v for _, v in self._segments[segment].readers if v in dropped and v not in cheap}, key=_number)
        total, before = sum(value.counted for value in mine), 0
        for value in mine:
            before += value.counted
            if 2 * before >= total:
                return _number(value) if value is not mine[0] else 0
        return 0

    def _work(
        self, segment: int, dropped: frozenset[Value], cheap: frozenset[Value], border: int
    ) -> tuple[int, int, float]:
        """The most bytes that come back as a pass comes to a segment, and while it goes through it; and the time."""
        known = self._segments[segment].readers
        readers = [(number, value) for number, value in known if value in dropped]
        if not readers:
            return 0, 0, 0.0
        key = self._likeness(segment, readers, cheap, border)
        if key not in self._known:
            self._known[key] = _Walk(self, dropped, cheap, border).go(readers)
        first, rest, seconds = self._known[key]
        if readers[0][0] != known[0][0]:  # when something is computed, the pass is in the midst of it already
            return 0, max(first, rest), seconds
        return first, rest, seconds

    def _likeness(
        self, segment: int, readers: list[tuple[int, Value]], cheap: frozenset[Value], border: int
    ) -> tuple[Any, ...]:
        """Equal for segments that do the same with the same sizes: most blocks of a model are alike."""
        start = readers[-1][0]
        forms = tuple(
            (number - start, value.nbytes, value in cheap, _number(value) - start if value.segment == segment else None)
            for number, value in readers
        )
        ops = tuple(op.func for op in self._needed([value for _, value in readers], {value for _, value in readers}))
        return forms, ops, border and border - start

    def cost(self, ops: Iterable[Op]) -> float:
        return sum(_CALL + self._costs(op) for op in ops)

    # Choosing --------------------------------------------------------------------------------------------------------

    def order(self, timed: bool = True) -> list[Value]:
        """What may be dropped, by the time that it costs to save a byte: see NOTE [ Planning ] 3.

        Without times, by operations: what can be dropped at all must not depend on the clock.
        """
        if timed not in self._orders:
            mine = [value for value in self.droppable if not timed or value not in self._results]
            self._orders[timed] = self._ordered(self.cost if timed else len, mine)
        return self._orders[timed]

    def _ordered(self, cost: Callable[[list[Op]], float], droppable: list[Value]) -> list[Value]:
        dropped: set[Value] = set()
        run: set[Op] = set()
        certain: set[Value] = set()
        """Held for certain, because an anchor is computed from them."""
        prices: dict[Value, float] = {}
        heap: list[tuple[float, int, int, Value]] = []
        mine: dict[int, list[Value]] = {}
        for value in droppable:
            mine.setdefault(value.segment, []).append(value)

        may = set(droppable)

        def bound(ops: list[Op]) -> set[Value]:
            """What must stay, if an anchor is computed by these."""
            needed = {v for op in ops for v in op.needs() if v.tokens and self.present(v, dropped)}
            return needed - certain

        def price(value: Value) -> float | None:
            ops = self._needed([value], dropped)
            if value in self._anchors:
                if len(ops) > _FEW or any(traits(op.func).heavy for op in ops):
                    return None
                if sum(other.counted for other in bound(ops) if other in may) >= value.counted:
                    return None  # what must stay for it could go instead
            return cost([op for op in ops if op not in run]) / value.counted

        def offer(value: Value) -> None:
            found = price(value)
            if found is not None and prices.get(value) != found:
                prices[value] = found
                heapq.heappush(heap, (found, -_number(value), id(value), value))

        for value in droppable:
            offer(value)
        found: list[Value] = []
        while heap:
            asked, _, _, value = heapq.heappop(heap)
            if value in dropped or value in certain or prices[value] != asked:
                continue
            now = price(value)
            if now is None:
                continue
            if now != asked:
                offer(value)
                continue
            ops = self._needed([value], dropped)
            if value in self._anchors:
                certain |= bound(ops)
            dropped.add(value)
            run.update(ops)
            found.append(value)
            for other in mine[value.segment]:
                if other not in dropped and other not in certain:
                    offer(other)
        return found

    def everything(self) -> Choice:
        """Drops all that can be dropped, and computes a segment in one go: policy recompute."""
        return self.measure(frozenset(self.order(timed=False)), lean=False, split=False)

    def _smallest(self) -> Choice:
        """The same in the least room, however often an operation is run again."""
        dropped = frozenset(self.order(timed=False))
        tried = [self.measure(dropped, lean, split) for lean, split in _WAYS if dropped or not lean]
        return min(tried, key=lambda choice: (choice.peak, choice.seconds))

    @cached_property
    def _nothing(self) -> Choice:
        return self.measure(frozenset(), lean=False, split=False, bits=False)

    @cached_property
    def _leanest(self) -> Choice:
        return min(self._nothing, self._smallest(), key=lambda choice: choice.peak)

    def least(self) -> int:
        """The smallest budget that is met. It does not depend on the clock."""
        return self._leanest.peak

    @property
    def all_held(self) -> int:
        """The most bytes that are alive if nothing is dropped: what retain_graph=True takes."""
        return self._nothing.peak

    def choose(self, budget: int) -> Choice | None:
        """The fastest way that fits, or None."""
        if self._nothing.peak <= budget:
            return self._nothing
        if self._leanest.peak > budget:
            return None
        tried = [self._fit(budget, lean, split) for lean, split in _WAYS]
        found = [choice for choice in (*tried, self._leanest) if choice is not None]
        return min(found, key=lambda choice: choice.seconds)

    def _fit(self, budget: int, lean: bool, split: bool) -> Choice | None:
        """Drops as little as need be in the order of prices, then takes back what there is room for."""
        order = self.order()
        low, high = 0, len(order)
        if self.measure(frozenset(order), lean, split).peak > budget:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.measure(frozenset(order[:middle]), lean, split).peak <= budget:
                high = middle
            else:
                low = middle + 1
        best = self.measure(frozenset(order[:high]), lean, split)
        if best.peak > budget:  # not every number of drops is better than the one before
            best = self.measure(frozenset(order), lean, split)
        spare = budget - best.peak
        for value in order[:high][::-1]:
            if 0 < value.counted <= spare and value in best.dropped:
                other = self.measure(best.dropped - {value}, lean, split)
                if other.peak <= budget and other.seconds <= best.seconds:
                    best, spare = other, budget - other.peak
        return best


class _Walk:
    """A pass through a segment, as far as bytes and time go."""

    def __init__(self, planner: Planner, dropped: frozenset[Value], cheap: frozenset[Value], border: int) -> None:
        self._planner, self._dropped, self._cheap, self._border = planner, dropped, cheap, border
        self._left: dict[Value, int] = {}
        self._here: set[Value] = set()
        self._bytes = self._most = 0
        self._seconds = 0.0

    def go(self, readers: list[tuple[int, Value]]) -> tuple[int, int, float]:
        """The most bytes when the first of them is read, and from then on; and the time."""
        first: int | None = None
        for _, value in readers:
            self._left[value] = self._left.get(value, 0) + 1
        for _, value in readers:
            if value not in self._here:
                self._compute(value)
            if first is None:
                first, self._most = self._most, 0
            alone = 0 if value in self._here else value.nbytes
            self._most = max(self._most, self._bytes + alone)
            self._left[value] -= 1
            if not self._left[value]:
                self._forget(value)
        return first or 0, self._most, self._seconds

    def _present(self, value: Value) -> bool:
        return value in self._here or self._planner.present(value, self._dropped)

    def _compute(self, target: Value) -> None:
        ops = closure([target], self._present)
        assert ops is not None
        self._seconds += _READ + self._planner.cost(ops)
        after = self._border if _number(target) >= self._border else 0
        last = {needed: place for place, op in enumerate(ops) for needed in op.needs()}
        temporary: dict[Value, int] = {}
        for place, op in enumerate(ops):
            for value in op.all_made():
                if self._present(value):
                    continue
                if self._waits(value, after, value is target):
                    self._here.add(value)
                    self._bytes += value.nbytes
                elif value is target or last.get(value, -1) > place:
                    temporary[value] = value.nbytes
            self._most = max(self._most, self._bytes + sum(temporary.values()))
            for needed in op.needs():
                if last[needed] == place and needed is not target:
                    temporary.pop(needed, None)

    def _waits(self, value: Value, after: int, target: bool) -> bool:
        if value in self._cheap or self._left.get(value, 0) <= (1 if target else 0):
            return False
        return target or _number(value) >= after

    def _forget(self, value: Value) -> None:
        if value in self._here:
            self._here.remove(value)
            self._bytes -= value.nbytes


def _number(value: Value) -> int:
    return 0 if value.op is None else value.op.number


def _two_valued(value: Value) -> bool:
    count = value.nbytes // value.dtype.itemsize
    return value.dense and count >= LEAST and count % 8 == 0
