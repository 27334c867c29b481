# SPDX-License-Identifier: BSD-3-Clause
"""Built-in functions and parts of the standard library that make, walk or count iterables."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from typing import Any

from .containers import is_concrete
from .library import FUNCTIONS, function
from .loops import is_whole, iterate, step
from .machine import Machine, Raised
from .operators import binary, offset
from .skipped_turns import Counter
from .values import Function, List, Object, Stream, Tensor, Unknown, identity, length

__all__ = ["some"]

ENDLESS = 1_000_000_000
LONGEST = 2**61
VAST = 10_000
"""A limit that a program reaches so late that it may as well have none: that of a replay buffer."""

Args = list[Any]
Words = dict[str, Any]


def some(m: Machine, value: Any, most: int = 3) -> tuple[list[Any], bool]:
    """The elements of an iterable, and whether these are all."""
    items, before = iterate(m, value), m.cuts
    found: list[Any] = []
    for item in items:
        if items.length is None and len(found) >= most:
            return found, False
        found.append(item)
        m.spend()
        if len(found) > 4000:
            return found, False
    return found, is_whole(m, value, items, before)


@function("builtins.len")
def _len(m: Machine, args: Args, kwargs: Words) -> Any:
    value = args[0]
    if isinstance(value, Object):
        found = value.cls.find("__len__")
        if found and isinstance(found[0], Function):
            return m.call(found[0], [value], {})
        value = value.hidden.get("items", Unknown(plain=True))
    size = length(value) if isinstance(value, (list, tuple, dict, str, set, range, bytes)) else None
    if size is not None:
        return size
    if isinstance(value, Unknown) and isinstance(value.key, tuple) and isinstance(value.key[-1], tuple):
        if value.key[-1][:1] == ("rank",):
            return Unknown(value.key[-1], plain=True)
    told = Unknown(_size_of(args[0] if _is_loader(args[0]) else value), plain=True)
    told.counts = value if isinstance(value, List) else None
    return told


def _is_loader(value: Any) -> bool:
    return isinstance(value, Object) and value.cls.derives("torch.utils.data.DataLoader")


def _size_of(value: Any) -> Any:
    """The identity of a length that cannot be told."""
    return ("len", identity(value))


@function("builtins.range")
def _range(m: Machine, args: Args, kwargs: Words) -> Any:
    if all(isinstance(a, int) for a in args):
        if len(args) > 2 and not args[2]:
            raise Raised("ValueError")
        # Python itself cannot tell the length of longer ones, and nobody walks them to their end.
        return range(*(max(-LONGEST, min(LONGEST, a)) for a in args))
    start = args[0] if len(args) > 1 and isinstance(args[0], int) else 0 if len(args) == 1 else None
    step = args[2] if len(args) > 2 else 1
    stop = args[1] if len(args) > 1 else args[0]
    key, more = offset(stop.key) if isinstance(stop, Unknown) and start is not None and step == 1 else (None, 0.0)
    total = (key, more - start) if key is not None and start is not None else None

    def make() -> Iterator[Any]:
        number = start
        while True:
            yield Unknown(plain=True) if number is None or not isinstance(step, int) else number
            number = None if number is None or not isinstance(step, int) else number + step

    return Stream(make, None, total=total)


@function("builtins.enumerate")
def _enumerate(m: Machine, args: Args, kwargs: Words) -> Any:
    start = kwargs.get("start", args[1] if len(args) > 1 else 0)
    source = args[0]
    size = _length(m, source)

    def make() -> Iterator[Any]:
        items = iter(iterate(m, source))
        if not isinstance(start, int):
            return ((Unknown(plain=True), item) for item in items)
        return Counter(range(start, start + ENDLESS), items, size)

    total = source.fields.get("total") if isinstance(source, Stream) else (_size_of(source), 0.0)
    return Stream(make, size, over=[source], total=total)


def _is_generator(value: Any) -> bool:
    return isinstance(value, Stream) and bool(value.fields.get("generator"))


def _length(m: Machine, value: Any) -> int | None:
    return value.length if _is_generator(value) else iterate(m, value).length


@function("builtins.zip", "itertools.zip_longest")
def _zip(m: Machine, args: Args, kwargs: Words) -> Any:
    sizes = [_length(m, a) for a in args]
    known = [s for s in sizes if s is not None]
    # A known side that is short bounds the whole even where the other side cannot be told.
    size = min(known) if known and (len(known) == len(sizes) or min(known) <= 6) else None
    return Stream(lambda: iter(zip(*(iterate(m, a) for a in args), strict=False)), size, over=args)


@function("builtins.reversed")
def _reversed(m: Machine, args: Args, kwargs: Words) -> Any:
    value = args[0]
    if isinstance(value, (list, tuple, range, str)):
        made = List(list(value)[::-1], m.short)
        made.loose = bool(getattr(value, "loose", False))
        return made
    found, whole = some(m, value)
    made = List(found[::-1], m.short)
    made.loose = not whole
    return made


@function("builtins.list", "builtins.sorted", "builtins.tuple", "collections.deque")
def _list(m: Machine, args: Args, kwargs: Words) -> Any:
    made = List(depth=m.short)
    if args:
        found, whole = some(m, args[0])
        made.extend(found)
        made.loose = not whole
        made.place = getattr(args[0], "place", None)
        if isinstance(args[0], List) and args[0].kind == "partial":
            made.kind, made.of = "partial", args[0].of
    limit = kwargs.get("maxlen", args[1] if len(args) > 1 else None)
    made.limit = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    made.forgets = limit is not None and (made.limit is None or made.limit < VAST)
    return made


@function("builtins.tuple")
def _tuple(m: Machine, args: Args, kwargs: Words) -> Any:
    if not args:
        return ()
    found, whole = some(m, args[0])
    return tuple(found) if whole else _list(m, args, {})


@function("builtins.sorted")
def _sorted(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = some(m, args[0])
    made = List(found, m.short)
    made.loose = not whole
    if is_concrete(found) and not kwargs:
        try:
            list.sort(made)
        except TypeError:
            pass
    return made


@function("builtins.iter")
def _iter(m: Machine, args: Args, kwargs: Words) -> Any:
    source = args[0]
    if _is_generator(source):
        return source
    items = iterate(m, source)
    made = Stream(lambda: items.source, items.length, generator=True)
    made.iterator = items.source
    return made


@function("builtins.next")
def _next(m: Machine, args: Args, kwargs: Words) -> Any:
    value = args[0]
    if isinstance(value, List) and value:
        return value[0]
    if isinstance(value, Object) and value.cls.find("__next__"):
        return step(m, value)
    items = iterate(m, value)
    for item in items:
        return item
    return args[1] if len(args) > 1 else Unknown()


@function("builtins.map")
def _map(m: Machine, args: Args, kwargs: Words) -> Any:
    act, sources = args[0], args[1:]
    size = _length(m, sources[0]) if sources else None

    def make() -> Iterator[Any]:
        for items in zip(*(iterate(m, s) for s in sources), strict=False):
            yield m.call(act, list(items), {})

    return Stream(make, size, generator=True)


@function("itertools.starmap")
def _starmap(m: Machine, args: Args, kwargs: Words) -> Any:
    act, source = args[0], args[1] if len(args) > 1 else Unknown()

    def make() -> Iterator[Any]:
        for item in iterate(m, source):
            yield m.call(act, list(item) if isinstance(item, (tuple, list)) else [Unknown()], {})

    return Stream(make, _length(m, source), generator=True)


@function("itertools.accumulate")
def _accumulate(m: Machine, args: Args, kwargs: Words) -> Any:
    source, act = args[0], args[1] if len(args) > 1 else kwargs.get("func")
    first = kwargs.get("initial")
    size = _length(m, source)

    def make() -> Iterator[Any]:
        total = first
        if first is not None:
            yield first
        for number, item in enumerate(iterate(m, source)):
            if number == 0 and first is None:
                total = item
            else:
                total = binary(m, ast.Add(), total, item) if act is None else m.call(act, [total, item], {})
            yield total

    return Stream(make, None if size is None else size + (first is not None), generator=True)


def _choosing(name: str) -> Any:
    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        test, source = args

        def make() -> Iterator[Any]:
            begun = False
            for item in iterate(m, source):
                true = begun or m.known_truth(item if test is None else m.call(test, [item], {}))
                if name == "takewhile" and true is False:
                    return
                begun = name == "dropwhile" and (begun or true is not True)
                if begun or (name == "takewhile") or (name == "filterfalse" and true is not True):
                    yield item

        return Stream(make, None, generator=True)

    return act


for _name in ("takewhile", "dropwhile", "filterfalse"):
    FUNCTIONS[f"itertools.{_name}"] = _choosing(_name)


@function("itertools.tee")
def _tee(m: Machine, args: Args, kwargs: Words) -> Any:
    """Several iterators over the same elements, each made once."""
    count = args[1] if len(args) > 1 and isinstance(args[1], int) else 2
    source, taken = iter(iterate(m, args[0])), List(depth=m.short)

    def make() -> Iterator[Any]:
        for number in itertools.count():
            if number == len(taken):
                item = next(source, taken)
                if item is taken:
                    return
                list.append(taken, item)
            yield taken[number]

    return tuple(Stream(make, _length(m, args[0]), generator=True) for _ in range(count))


@function("itertools.batched")
def _batched(m: Machine, args: Args, kwargs: Words) -> Any:
    size = args[1] if isinstance(args[1], int) and args[1] > 0 else 1
    length_ = _length(m, args[0])

    def make() -> Iterator[Any]:
        items = iter(iterate(m, args[0]))
        while part := tuple(itertools.islice(items, size)):
            yield part

    return Stream(make, None if length_ is None else -(-length_ // size), generator=True)


@function("builtins.filter")
def _filter(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = some(m, args[1])
    made = List(depth=m.short)
    for item in found:
        keep = m.known_truth(item if args[0] is None else m.call(args[0], [item], {}))
        made.loose = made.loose or keep is None
        if keep is not False:
            made.append(item)
    made.loose = made.loose or not whole
    made.kind = getattr(args[1], "kind", "list")
    return made


@function("itertools.count")
def _count(m: Machine, args: Args, kwargs: Words) -> Any:
    start = args[0] if args and isinstance(args[0], int) else 0
    counter = iter(range(start, ENDLESS))
    return Stream(lambda: counter, None, generator=True)


@function("itertools.chain", "itertools.chain.from_iterable")
def _chain(m: Machine, args: Args, kwargs: Words) -> Any:
    made = List(depth=m.short)
    made.kind = "complete"
    for source in args:
        found, whole = some(m, source, 1 if isinstance(source, Unknown) else 400 if isinstance(source, Stream) else 40)
        made.extend(found)
        made.loose = made.loose or not whole
        if getattr(source, "kind", "") == "partial" or isinstance(source, Unknown):
            made.kind = "partial"
        made.of += getattr(source, "of", ())
    return made


@function("itertools.chain.from_iterable")
def _chain_all(m: Machine, args: Args, kwargs: Words) -> Any:
    return _chain(m, some(m, args[0])[0], {})


@function("itertools.islice")
def _islice(m: Machine, args: Args, kwargs: Words) -> Any:
    stop = args[1] if len(args) == 2 else args[2] if len(args) > 2 else None
    source = args[0]
    size = _length(m, source)
    known = stop if isinstance(stop, int) else None
    length_ = known if size is None else min(size, known) if known is not None else None

    def make() -> Iterator[Any]:
        for number, item in enumerate(iterate(m, source)):
            if known is not None and number >= known:
                return
            yield item

    return Stream(make, length_)


@function("itertools.cycle", "itertools.repeat")
def _cycle(m: Machine, args: Args, kwargs: Words) -> Any:
    source = args[0]

    def make() -> Iterator[Any]:
        while True:
            yield from some(m, source)[0] or [Unknown()]

    return Stream(make, None, generator=True)


@function("itertools.repeat")
def _repeat(m: Machine, args: Args, kwargs: Words) -> Any:
    return Stream(lambda: iter(lambda: args[0], m), args[1] if len(args) > 1 and isinstance(args[1], int) else None)


@function("itertools.pairwise")
def _pairwise(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = some(m, args[0])
    made = List(list(itertools.pairwise(found)), m.short)
    made.loose = not whole
    return made


def _choices(name: str) -> Any:
    """Several elements at a time of what is there: of many, the choices of the first few."""

    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        found, whole = some(m, args[0], 5)
        count = args[1] if len(args) > 1 else kwargs.get("r", len(found) if name == "permutations" else None)
        if not isinstance(count, int):
            return Unknown(node=next((v.node for v in found if isinstance(v, Tensor)), None))
        made = List(itertools.islice(getattr(itertools, name)(found, count), VAST), m.short)
        made.loose = not whole or len(made) == VAST
        return made

    return act


for _name in ("combinations", "permutations", "combinations_with_replacement"):
    FUNCTIONS[f"itertools.{_name}"] = _choices(_name)


@function("itertools.product")
def _product(m: Machine, args: Args, kwargs: Words) -> Any:
    repeat = kwargs.get("repeat", 1)
    sizes = [_length(m, a) for a in args]
    count = math.prod(s or VAST for s in sizes) ** (repeat if isinstance(repeat, int) else 9)
    if count <= 400:
        return List(itertools.product(*(some(m, a)[0] for a in args), repeat=repeat), m.short)
    return Stream(lambda: iter(lambda: tuple(next(iter(iterate(m, a)), Unknown()) for a in args), m), None)


@function(
    "tqdm.tqdm",
    "tqdm",
    "tqdm.std.tqdm",
    "rich.progress.track",
    "alive_progress.alive_it",
    "fastprogress.progress_bar",
)
def _progress(m: Machine, args: Args, kwargs: Words) -> Any:
    given = args[0] if args else kwargs.get("iterable", Unknown(plain=True))
    # What a bar can do besides (`set_postfix`) is its own, not the loader's.
    return Stream(lambda: iter(iterate(m, given))) if isinstance(given, Object) else given


@function("tqdm.trange")
def _trange(m: Machine, args: Args, kwargs: Words) -> Any:
    return _range(m, args, {})
