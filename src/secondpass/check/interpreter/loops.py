# SPDX-License-Identifier: BSD-3-Clause
"""Walking through iterables: which elements there are, and how many of them are worth looking at.

NOTE [ How long a loop is walked ]
1. A loop known to be short (`WHOLE` turns) is walked to its end, and so is one over tensors that gather gradients or
   the modules of a network: what is done to some of them (frozen, clipped, copied, summed up) is done to all. So is a
   comprehension over tensors whose number is known; and a loop, however it counts, whose turns clear or change one
   such tensor after the other.
2. Any other loop is walked three turns: the first builds, the second meets what the first left, the third repeats the
   second. That there are at least two turns is the one thing assumed of data.
3. A condition on a counter (`step % 4 == 0`) that is known makes the loop longer, until it came true twice. So does
   what can only be told from how it goes on: a list that collects history, a sum built from itself, a step that finds
   old gradients, gradients that are cleared unused, a pass over nodes that an earlier one has spent.
   What comes later still is looked at by leaving out turns: see `skipped_turns`.
4. A loop whose turns are costly to read is walked two turns, or a few more where 3 asks for them.
5. A loop in a generator goes as far as the loop that walks the generator.
6. When a reading takes long, what comes before the first pass is looked at in brief, and so is the end: one turn of each
   loop.
7. A loop over things that are known one by one (the settings in a dict) goes to its end, as long as its turns are cheap.
8. Where the turns are compared with how many there are (`step == len(loader) - 1`), and that cannot be told, none of them
   is the last, until all that are looked at have been: then one more is, and it is the last.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .machine import Loop, Machine, Raised
from .nodes import Leaf
from .skipped_turns import Counter, jumps, open_loops
from .values import Class, Dict, List, Object, Stream, Tensor, Unknown, serials

__all__ = [
    "MODULUS",
    "Iteration",
    "alike",
    "at_least",
    "at_least_so_many",
    "gathers",
    "is_over",
    "is_whole",
    "iterate",
    "lengthen",
    "so_far",
    "step",
    "touched",
    "turns",
    "wasted",
]

WHOLE = 6
MANY = 400
CHEAP = 40
"""Steps of a turn that does no more than to copy a setting."""
COSTLY = 2_500
COSTLIEST = 15_000
"""Steps of reading after which a loop is cut short whose going on would tell something."""
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_FILLED = 8
"""The largest number of elements up to which a list is seen to be filled turn by turn."""
MODULUS = 16
"""The largest modulus of a counter that a loop is walked for."""


class Iteration:
    """The elements of an iterable; `length` is None where their number cannot be told."""

    __slots__ = ("length", "source")

    def __init__(self, source: Iterator[Any], length: int | None) -> None:
        self.source = source
        self.length = length

    def __iter__(self) -> Iterator[Any]:
        return self.source


def iterate(m: Machine, value: Any) -> Iteration:
    """What `for` would go through."""
    if isinstance(value, range):
        return Iteration(Counter(value), len(value))
    if isinstance(value, (list, tuple, set, frozenset, dict, str, bytes)):
        loose = isinstance(value, (List, Dict)) and value.loose
        # A list may grow while it is walked: Python's own iterator sees that, a copy would not.
        source = iter(value) if isinstance(value, (list, str)) else iter(list(value))
        if loose and isinstance(value, List):
            return Iteration(_continued(value), None)
        return Iteration(source, None if loose else len(value))
    if isinstance(value, Stream):
        if value.fields.get("generator"):
            if value.iterator is None:
                value.iterator = value.make()
            return Iteration(value.iterator, value.length)
        return Iteration(value.make(), value.length)
    if isinstance(value, Tensor):
        return Iteration(_endless(lambda: m.tensor_element(value)), None)
    if isinstance(value, Object):
        return _object(m, value)
    if isinstance(value, Class) and "__members__" in value.attrs:
        return iterate(m, list(value.attrs["__members__"].values()))
    if not isinstance(value, Unknown):
        return Iteration(_endless(Unknown), None)
    kind = value.key[:1] if isinstance(value.key, tuple) else ()
    plain = value.plain

    def element() -> Unknown:
        key = ("batch",) if kind == ("batch",) else ("measured", next(serials)) if kind == ("measured",) else None
        made = Unknown(None if key is None else (*key, Unknown().key), plain, m.part(value))
        made.owner, made.lost = value, value.lost
        return made

    return Iteration(_endless(element), None)


def is_whole(m: Machine, value: Any, items: Iteration, before: int) -> bool:
    """Whether what was gone through to its end is all there is, where so many loops had been `cuts` before: a generator has
    no length, and gives all it has if it cut nothing short on its way."""
    generator = isinstance(value, Stream) and value.fields.get("generator")
    return items.length is not None or (bool(generator) and m.cuts == before)


def _endless(make: Any) -> Iterator[Any]:
    while True:
        yield make()


def _continued(box: List) -> Iterator[Any]:
    """The elements of a loose list, then others of their kind: data goes on, what has history is not made up."""
    item: Any = None
    yield from box.others[-1:]
    for item in box:
        yield item
    while (item := alike(item)) is not None:
        yield item


def alike(value: Any) -> Any:
    """Another value of the same kind, or None where it may have history."""
    if isinstance(value, Tensor):
        return Tensor(False) if value.needs is False and value.grad_of is None else None
    if isinstance(value, (int, float, str)) or (isinstance(value, Unknown) and value.plain):
        return Unknown(plain=True)
    if isinstance(value, (tuple, List, Dict)):
        parts = [alike(v) for v in (value.values() if isinstance(value, dict) else value)]
        if not parts or any(p is None for p in parts):
            return None
        if isinstance(value, Dict):
            return Dict(zip(value, parts, strict=True))
        return List(parts) if isinstance(value, List) else tuple(parts)
    return None


def _object(m: Machine, value: Object) -> Iteration:
    items = value.hidden.get("items")
    if items is not None and value.cls.find("__iter__") is None:
        return iterate(m, items)
    found = value.cls.find("__iter__")
    if found:
        walked = m.call(found[0], [value], {})
        if isinstance(walked, Object) and walked.cls.find("__next__"):
            return Iteration(_steps(m, walked), None)
        return Iteration(_endless(Unknown), None) if walked is value else iterate(m, walked)
    found = value.cls.find("__getitem__")
    if found:
        return Iteration(_endless(lambda: m.call(found[0], [value, Unknown(plain=True)], {})), None)
    return Iteration(_endless(Unknown), None)


def _steps(m: Machine, iterator: Object) -> Iterator[Any]:
    """What `__next__` gives, until it raises StopIteration."""
    while True:
        try:
            item = step(m, iterator)
        except Raised as error:
            if error.name != "StopIteration":
                raise
            return
        yield item


def step(m: Machine, iterator: Object) -> Any:
    """`next(iterator)` of a class of the program's own."""
    found = iterator.cls.find("__next__")
    return m.call(found[0], [iterator], {}) if found else Unknown()


def _most(value: Any, counted: bool) -> int:
    """The number of elements up to which all of them are looked at."""
    if getattr(value, "kind", "") == "modules":
        return MANY
    tensors = list(_first_tensors(value))
    return MANY if any(t.is_param or t.leaf is not None for t in tensors) or (tensors and not counted) else WHOLE


def _first_tensors(value: Any) -> Iterator[Tensor]:
    """The tensors of the first element that a loop gets."""
    if isinstance(value, Stream):
        for source in value.fields.get("over", ()):
            yield from _first_tensors(source)
    elif isinstance(value, (list, tuple, dict)) and value:
        first = next(iter(value.values() if isinstance(value, dict) else value))
        yield from (part for part in (first if isinstance(first, tuple) else (first,)) if isinstance(part, Tensor))


def turns(m: Machine, value: Any, first: int, counted: bool = True, lazy: bool = False) -> Iterator[Any]:
    """The elements a loop looks at. See NOTE [ How long a loop is walked ]."""
    items = iterate(m, value)
    exact = items.length is not None and items.length <= _most(value, counted)
    loop, frame = Loop(first, lazy), m.frames[-1]
    loop.began, loop.passes, cuts = m.steps, len(m.engine.passes), m.cuts
    loop.whole = exact
    loop.length = items.length
    loop.listed = not isinstance(value, range)
    if isinstance(value, Stream) and items.length is None and not lazy:
        loop.total = value.fields.get("total")
    frame.loops.append(loop)
    m.short += not exact
    try:
        source = iter(items)
        later: Iterator[int] | None = None
        while True:
            if exact and loop.turn and len(m.engine.passes) > loop.passes and m.is_late():
                break
            if loop.last:
                break
            if not exact and is_over(m, loop):
                later = later or (jumps(m, loop, source) if counted and not lazy else iter(()))
                left_out = None if m.is_late() else next(later, None)
                if left_out is None and not loop.asked:
                    break
                loop.last = left_out is None
                loop.index += left_out or 0
            loop.count = 0  # what is made to get the next item belongs to no turn
            frame.line, loop.born = first, serials.last
            item = next(source, loop)
            if item is loop:
                if items.length is None and isinstance(value, (list, dict)):
                    m.cuts += 1  # there may be more in it than was seen to be put there
                if loop.turn < loop.want and not is_whole(m, value, items, cuts):
                    m.engine.keep_since(loop.passes)
                return
            loop.index += 1
            m.turn(loop, counted)
            yield item
        loop.cut = True
        m.cuts += 1
    finally:
        frame.loops.remove(loop)
        m.short -= not exact


def lengthen(m: Machine, modulus: int, most: int = 4) -> None:
    """A known condition on a counter: lets the loop around it run until it came true twice."""
    loop = next((frame.loops[-1] for frame in reversed(m.frames) if frame.loops), None)
    if 1 < modulus <= most and loop is not None and not loop.whole:
        loop.period = max(loop.period, modulus)
        at_least(m, 2 * modulus + 1)


def so_far(m: Machine, size: Any, limit: Any) -> Any:
    """The length of a list that is compared with a small number, while every turn in which it grew has been looked at."""
    box = size.counts if isinstance(size, Unknown) else None
    if box is None or type(limit) is not int or not 0 <= limit <= _FILLED or not box.grew_in:
        return size
    walked = {loop for loop in open_loops(m) if not (loop.jumped or loop.lazy)}
    if not box.grew_in <= walked:
        return size
    lengthen(m, limit, _FILLED)
    return len(box)


def at_least_so_many(op: ast.cmpop, left: Any, right: Any) -> tuple[Any, Any]:
    """Both sides of a comparison, with the number of known elements in place of the length of a list which has grown in loops that
    were cut short, where that decides: it has no fewer."""
    for size, limit, more in ((left, right, (ast.GtE, ast.Lt)), (right, left, (ast.LtE, ast.Gt))):
        box = size.counts if isinstance(size, Unknown) else None
        if box is not None and type(limit) is int and type(op) in _ORDERS:
            if len(box) > limit or (len(box) == limit and isinstance(op, more)):
                return (len(box), right) if size is left else (left, len(box))
    return left, right


def touched(m: Machine, leaf: Leaf) -> None:
    """A gradient was cleared, or a leaf changed. A loop that comes to another one in each turn comes to them all."""
    for loop in _around(m):
        before = loop.touched.setdefault(id(leaf), loop.turn)
        if before == loop.turn > 1 and loop.length is not None and loop.length <= MANY:
            loop.want = max(loop.want, loop.length + 1)


def wasted(m: Machine) -> None:
    """Gradients were cleared unused: lets the loop around this place run until others were used three times."""
    at_least(m, max([13, *(3 * loop.period + 1 for loop in _around(m))]))


def at_least(m: Machine, turns: int) -> None:
    """Lets the loop around this place run so many turns."""
    for loop in _around(m):
        loop.want = max(loop.want, turns)


def gathers(m: Machine, depth: int) -> None:
    """History is put into something that was there before all loops but so many: whether it grows shows at passes, so the
    loop around them goes on as well."""
    m.gathered += 1
    for _, loop in zip(range(m.short - depth), open_loops(m), strict=False):
        loop.want = max(loop.want, 8 * loop.period)
        if len(m.engine.passes) > loop.passes:
            return


def _is_cheap(m: Machine, loop: Loop) -> bool:
    """Whether the turns of a loop whose number is known cost little, and train nothing."""
    known = loop.length is not None and loop.length <= MANY and len(m.engine.passes) == loop.passes
    return known and m.steps - loop.began <= CHEAP * loop.turn


def _around(m: Machine) -> Iterator[Loop]:
    """The innermost loop that will be cut short; if it stands in a generator, the one that walks the generator too."""
    for loop in open_loops(m):
        yield loop
        if not loop.lazy:
            return


def is_over(m: Machine, loop: Loop) -> bool:
    """Whether enough turns of a loop have been looked at."""
    if loop.listed and loop.turn and _is_cheap(m, loop):
        return False
    if loop.turn >= loop.want:
        return True
    if loop.turn and not loop.lazy and m.is_late():
        return True
    return not loop.lazy and loop.turn >= 2 and m.steps - loop.began > (COSTLY if loop.want <= 3 else COSTLIEST)
