# SPDX-License-Identifier: BSD-3-Clause
"""Built-in functions and the parts of the standard library that training code leans on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from . import argparse_model  # noqa: F401 - registers
from .attributes import get_attribute, get_item, has_attribute, set_attribute
from .containers import is_concrete, length
from .contexts import Switch
from .copies import copied
from .gradfn import GradFunction, names
from .library import FUNCTIONS, function, library_class, models
from .loops import iterate
from .machine import Machine
from .tensors import operate
from .values import Bound, Class, Dict, External, Function, List, Module, Native, Object, Stream, Tensor, Unknown

if TYPE_CHECKING:
    from . import calls as _calls
    from . import operators as _operators

__all__: list[str] = []

Args = list[Any]
Words = dict[str, Any]


def _some(m: Machine, value: Any, most: int = 3) -> tuple[list[Any], bool]:
    """The elements of an iterable, and whether these are all."""
    items = iterate(m, value)
    found: list[Any] = []
    for item in items:
        if items.length is None and len(found) >= most:
            return found, False
        found.append(item)
        m.spend()
        if len(found) > 4000:
            return found, False
    return found, items.length is not None


@function("builtins.len")
def _len(m: Machine, args: Args, kwargs: Words) -> Any:
    value = args[0]
    if isinstance(value, Object):
        found = value.cls.find("__len__")
        if found and isinstance(found[0], Function):
            return _calls.call(m, found[0], [value], {})
        value = value.hidden.get("items", Unknown(plain=True))
    size = length(value) if isinstance(value, (list, tuple, dict, str, set, range, bytes)) else None
    if size is not None:
        return size
    return Unknown(("len", getattr(value, "key", id(value))), plain=True)


@function("builtins.range")
def _range(m: Machine, args: Args, kwargs: Words) -> Any:
    if all(isinstance(a, int) for a in args):
        return range(*args)
    start = args[0] if len(args) > 1 and isinstance(args[0], int) else 0 if len(args) == 1 else None
    step = args[2] if len(args) > 2 else 1

    def make() -> Iterator[Any]:
        number = start
        while True:
            yield Unknown(plain=True) if number is None or not isinstance(step, int) else number
            number = None if number is None or not isinstance(step, int) else number + step

    return Stream(make, None)


@function("builtins.enumerate")
def _enumerate(m: Machine, args: Args, kwargs: Words) -> Any:
    start = kwargs.get("start", args[1] if len(args) > 1 else 0)
    source = args[0]

    def make() -> Iterator[Any]:
        for number, item in enumerate(iterate(m, source)):
            yield (number + start if isinstance(start, int) else Unknown(plain=True)), item

    return Stream(make, iterate(m, source).length if not _is_generator(source) else source.length, over=[source])


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
    found, whole = _some(m, value)
    made = List(found[::-1], m.short)
    made.loose = not whole
    return made


@function("builtins.list", "builtins.sorted", "builtins.tuple", "collections.deque")
def _list(m: Machine, args: Args, kwargs: Words) -> Any:
    made = List(depth=m.short)
    if args:
        found, whole = _some(m, args[0])
        made.extend(found)
        made.loose = not whole
        made.place = getattr(args[0], "place", None)
    limit = kwargs.get("maxlen", args[1] if len(args) > 1 else None)
    made.limit = limit if isinstance(limit, int) and not isinstance(limit, bool) else None
    return made


@function("builtins.tuple")
def _tuple(m: Machine, args: Args, kwargs: Words) -> Any:
    if not args:
        return ()
    found, whole = _some(m, args[0])
    return tuple(found) if whole else _list(m, args, {})


@function("builtins.sorted")
def _sorted(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = _some(m, args[0])
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
    items = iterate(m, value)
    for item in items:
        return item
    return args[1] if len(args) > 1 else Unknown()


@function("builtins.dict", "collections.OrderedDict")
def _dict(m: Machine, args: Args, kwargs: Words) -> Any:
    made = Dict(depth=m.short)
    if args:
        source = args[0]
        if isinstance(source, dict):
            made.update(source)
            made.loose = bool(getattr(source, "loose", False))
        else:
            found, whole = _some(m, source)
            made.loose = not whole
            for pair in found:
                if isinstance(pair, tuple) and len(pair) == 2 and is_concrete(pair[0]):
                    made[pair[0]] = pair[1]
                else:
                    made.loose = True
    made.update(kwargs)
    return made


@function("collections.defaultdict", "collections.Counter")
def _defaultdict(m: Machine, args: Args, kwargs: Words) -> Any:
    made = Dict(depth=m.short)
    made.default = args[0] if args and not isinstance(args[0], (dict, list)) else External("builtins.int")
    return made


@function("builtins.set", "builtins.frozenset")
def _set(m: Machine, args: Args, kwargs: Words) -> Any:
    if not args:
        return set()
    found, whole = _some(m, args[0])
    return set(found) if whole and is_concrete(found) else Unknown(plain=True)


@function("builtins.sum")
def _sum(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = _some(m, args[0])
    total: Any = args[1] if len(args) > 1 else kwargs.get("start", 0)
    import ast

    if not whole and is_concrete(found):
        return Unknown(plain=True)
    for item in found:
        total = _operators.binary(m, ast.Add(), total, item)
    return total if whole or isinstance(total, Tensor) else Unknown(plain=getattr(total, "plain", True))


@function("builtins.min", "builtins.max")
def _extreme(m: Machine, args: Args, kwargs: Words) -> Any:
    values = args if len(args) > 1 else _some(m, args[0])[0]
    if any(isinstance(v, Tensor) for v in values):
        return next(v for v in values if isinstance(v, Tensor))
    return Unknown(plain=True)


def _pure(name: str, real: Any) -> Any:
    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        if is_concrete(list(args)) and is_concrete(kwargs):
            try:
                found = real(*args, **kwargs)
            except Exception:
                return Unknown(plain=True)
            return found if is_concrete(found) else Unknown(plain=True)
        if any(isinstance(a, Tensor) for a in args) and name in ("abs", "round"):
            return operate(m, name, list(args), {})
        if name in ("min", "max"):
            return _extreme(m, args, kwargs)
        return Unknown(plain=True)

    return act


for _name, _real in {
    "abs": abs,
    "round": round,
    "min": min,
    "max": max,
    "divmod": divmod,
    "ord": ord,
    "chr": chr,
    "pow": pow,
}.items():
    FUNCTIONS[f"builtins.{_name}"] = _pure(_name, _real)
for _name in dir(math):
    if callable(getattr(math, _name)) and not _name.startswith("_"):
        FUNCTIONS[f"math.{_name}"] = _pure(_name, getattr(math, _name))


@function("builtins.int", "builtins.float", "builtins.str", "builtins.bool", "builtins.repr", "builtins.format")
def _number(m: Machine, args: Args, kwargs: Words) -> Any:
    return Unknown(plain=True)


def _convert(name: str, real: Any) -> None:
    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        if not args:
            return real()
        value = args[0]
        if isinstance(value, Tensor):
            if value.needs and m.grad and name in ("int", "float"):
                m.engine.cut("item", value.name, m.place())
            return Unknown(plain=True)
        if name == "bool":
            known = m.known_truth(value)
            return known if known is not None else value
        if is_concrete(list(args)):
            try:
                return real(*args)
            except Exception:
                return Unknown(plain=True)
        return Unknown(("as", name, getattr(value, "key", id(value))), plain=True)

    FUNCTIONS[f"builtins.{name}"] = act


for _name, _real in {"int": int, "float": float, "str": str, "bool": bool}.items():
    _convert(_name, _real)


def instance_of(m: Machine, value: Any, kind: Any) -> bool | None:
    """`isinstance(value, kind)` where it can be told."""
    if isinstance(kind, (tuple, list)):
        answers = [instance_of(m, value, k) for k in kind]
        return True if True in answers else None if None in answers else False
    if isinstance(value, Unknown):
        return None
    if isinstance(kind, Class):
        if not isinstance(value, Object):
            return False
        return kind in value.cls.order or (None if value.cls.unknown else False)
    if not isinstance(kind, External):
        return None
    last = kind.name.rpartition(".")[2]
    if isinstance(value, Object):
        if value.cls.derives(kind.name):
            return True
        return (
            None
            if value.cls.unknown or (library_class(kind.name) is None and not kind.name.startswith("builtins."))
            else False
        )
    if isinstance(value, Tensor):
        if kind.name == "torch.nn.Parameter":
            return value.is_param
        return kind.name in ("torch.Tensor", "torch.autograd.Variable") or (
            None if kind.name.startswith("torch.") else False
        )
    real = {
        "int": int, "float": float, "str": str, "bool": bool, "list": list, "tuple": tuple, "dict": dict, "set": set,
        "Sequence": (list, tuple), "Iterable": (list, tuple, dict, set), "Mapping": dict, "OrderedDict": dict,
        "bytes": bytes, "Number": (int, float), "Callable": (Function, Bound, Native), "range": range,
        "defaultdict": dict, "deque": list, "List": list, "Dict": dict,
    }.get(last)  # fmt: skip
    if real is None:
        return False if is_concrete(value) or isinstance(value, (list, dict, tuple)) else None
    if isinstance(value, (Stream, Module, Function, Bound)) and last != "Callable":
        return None
    return isinstance(value, real)


@function("builtins.isinstance")
def _isinstance(m: Machine, args: Args, kwargs: Words) -> Any:
    known = instance_of(m, args[0], args[1])
    if known is not None:
        return known
    kind = getattr(args[1], "name", repr(args[1])[:60])
    return Unknown(("isinstance", getattr(args[0], "key", id(args[0])), kind), plain=True)


@function("builtins.issubclass", "builtins.callable")
def _open_question(m: Machine, args: Args, kwargs: Words) -> Any:
    if len(args) == 1 and isinstance(args[0], (Function, Bound, Native, Class)):
        return True
    return Unknown(plain=True)


@function("builtins.hasattr")
def _hasattr(m: Machine, args: Args, kwargs: Words) -> Any:
    known = has_attribute(m, args[0], args[1])
    return (
        Unknown(("has", getattr(args[0], "key", id(args[0])), repr(args[1])[:40]), plain=True)
        if known is None
        else known
    )


@function("builtins.getattr")
def _getattr(m: Machine, args: Args, kwargs: Words) -> Any:
    if not isinstance(args[1], str):
        return Unknown()
    if len(args) > 2:
        known = has_attribute(m, args[0], args[1])
        if known is False:
            return args[2]
    return get_attribute(m, args[0], args[1])


@function("builtins.setattr")
def _setattr(m: Machine, args: Args, kwargs: Words) -> None:
    if isinstance(args[1], str):
        set_attribute(m, args[0], args[1], args[2])
    elif isinstance(args[0], Object):
        args[0].loose = True
        if isinstance(args[2], (Object, Tensor)):
            args[0].attrs[f"<{len(args[0].attrs)}>"] = args[2]


@function("builtins.dir")
def _dir(m: Machine, args: Args, kwargs: Words) -> Any:
    return List(names(args[0]), m.short) if args and isinstance(args[0], GradFunction) else Unknown(plain=True)


@function("builtins.type")
def _type(m: Machine, args: Args, kwargs: Words) -> Any:
    if len(args) == 1 and isinstance(args[0], Object):
        return args[0].cls
    return Unknown(("type", getattr(args[0], "key", id(args[0]))), plain=True)


@function("builtins.id", "builtins.hash")
def _id(m: Machine, args: Args, kwargs: Words) -> int:
    return id(args[0])


@function("builtins.print", "builtins.input")
def _print(m: Machine, args: Args, kwargs: Words) -> None:
    return None


@function("builtins.map", "builtins.filter", "itertools.starmap")
def _map(m: Machine, args: Args, kwargs: Words) -> Any:
    act, sources = args[0], args[1:]
    size = _length(m, sources[0]) if sources else None

    def make() -> Iterator[Any]:
        for items in zip(*(iterate(m, s) for s in sources), strict=False):
            yield _calls.call(m, act, list(items), {})

    return Stream(make, size, generator=True)


@function("builtins.filter")
def _filter(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = _some(m, args[1])
    made = List(depth=m.short)
    for item in found:
        keep = m.known_truth(item if args[0] is None else _calls.call(m, args[0], [item], {}))
        made.loose = made.loose or keep is None
        if keep is not False:
            made.append(item)
    made.loose = made.loose or not whole
    made.kind = getattr(args[1], "kind", "list")
    return made


@function("builtins.globals")
def _globals(m: Machine, args: Args, kwargs: Words) -> Any:
    m.changes.append(-1)
    return m.frames[-1].module.globals


@function("builtins.vars")
def _vars(m: Machine, args: Args, kwargs: Words) -> Any:
    return args[0].attrs if args and isinstance(args[0], Object) else Unknown()


@function("builtins.any", "builtins.all")
def _any(m: Machine, args: Args, kwargs: Words) -> Any:
    return Unknown(plain=True)


@function("copy.deepcopy", "copy.copy")
def _copy(m: Machine, args: Args, kwargs: Words) -> Any:
    return copied(m, args[0], {})


@function("copy.copy")
def _shallow(m: Machine, args: Args, kwargs: Words) -> Any:
    value = args[0]
    if isinstance(value, Object):
        made = Object(value.cls)
        made.attrs, made.hidden = dict(value.attrs), dict(value.hidden)
        return made
    if isinstance(value, (List, Dict)):
        return get_attribute(m, value, "copy").act(m, [], {})
    return value


@function("functools.partial")
def _partial(m: Machine, args: Args, kwargs: Words) -> Any:
    act, first = args[0], list(args[1:])
    return Native("partial", lambda m, more, words: _calls.call(m, act, [*first, *more], {**kwargs, **words}))


@function("functools.wraps", "functools.lru_cache", "functools.cache", "functools.total_ordering")
def _wraps(m: Machine, args: Args, kwargs: Words) -> Any:
    return External("functools.wraps.done")


@function("functools.wraps.done", "abc.abstractmethod", "torch.jit.export", "typing.overload", "typing.cast")
def _as_is(m: Machine, args: Args, kwargs: Words) -> Any:
    return args[-1]


@function("functools.reduce")
def _reduce(m: Machine, args: Args, kwargs: Words) -> Any:
    found, _ = _some(m, args[1])
    values = [args[2], *found] if len(args) > 2 else found
    total = values[0] if values else Unknown()
    for item in values[1:]:
        total = _calls.call(m, args[0], [total, item], {})
    return total


@function("itertools.count")
def _count(m: Machine, args: Args, kwargs: Words) -> Any:
    start = args[0] if args and isinstance(args[0], int) else 0
    counter = iter(range(start, 1_000_000_000))
    return Stream(lambda: counter, None, generator=True)


@function("itertools.chain", "itertools.chain.from_iterable")
def _chain(m: Machine, args: Args, kwargs: Words) -> Any:
    made = List(depth=m.short)
    made.kind = "complete"
    for source in args:
        found, whole = _some(m, source, 40 if not isinstance(source, Unknown) else 1)
        made.extend(found)
        made.loose = made.loose or not whole
        if getattr(source, "kind", "") == "partial" or isinstance(source, Unknown):
            made.kind = "partial"
    return made


@function("itertools.chain.from_iterable")
def _chain_all(m: Machine, args: Args, kwargs: Words) -> Any:
    return _chain(m, _some(m, args[0])[0], {})


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
            yield from _some(m, source)[0] or [Unknown()]

    return Stream(make, None, generator=True)


@function("itertools.repeat")
def _repeat(m: Machine, args: Args, kwargs: Words) -> Any:
    return Stream(lambda: iter(lambda: args[0], m), args[1] if len(args) > 1 and isinstance(args[1], int) else None)


@function("itertools.pairwise")
def _pairwise(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = _some(m, args[0])
    made = List(list(itertools.pairwise(found)), m.short)
    made.loose = not whole
    return made


@function("itertools.product")
def _product(m: Machine, args: Args, kwargs: Words) -> Any:
    return Stream(lambda: iter(lambda: tuple(next(iter(iterate(m, a)), Unknown()) for a in args), m), None)


@function("contextlib.suppress")
def _suppress(m: Machine, args: Args, kwargs: Words) -> Switch:
    kinds = tuple(a.name.rpartition(".")[2] for a in args if isinstance(a, (External, Class)))
    return Switch(None, kinds)


@function(
    "tqdm.tqdm",
    "tqdm.trange",
    "tqdm",
    "tqdm.std.tqdm",
    "rich.progress.track",
    "alive_progress.alive_it",
    "fastprogress.progress_bar",
)
def _progress(m: Machine, args: Args, kwargs: Words) -> Any:
    if args:
        return args[0]
    return kwargs.get("iterable", Unknown(plain=True))


@function("tqdm.trange")
def _trange(m: Machine, args: Args, kwargs: Words) -> Any:
    return _range(m, args, {})


@function("math.isnan", "math.isinf", "numpy.isnan", "numpy.isinf", "torch.isnan", "torch.isinf")
def _not_finite(m: Machine, args: Args, kwargs: Words) -> Unknown:
    # Reading is about programs whose numbers are sound; what they do otherwise is not what they do.
    return Unknown(("likely", False, Unknown().key), plain=True)


@function("math.isfinite", "numpy.isfinite", "torch.isfinite")
def _finite(m: Machine, args: Args, kwargs: Words) -> Unknown:
    return Unknown(("likely", True, Unknown().key), plain=True)


for _name in ("dict", "list"):
    models(f"builtins.{_name}")
for _name in ("OrderedDict", "defaultdict", "deque", "UserDict"):
    models(f"collections.{_name}")


@function("pytest.raises", "unittest.TestCase.assertRaises")
def _expected(m: Machine, args: Args, kwargs: Words) -> Switch:
    return Switch(None, ("expected",))


@function("collections.namedtuple", "typing.NamedTuple")
def _namedtuple(m: Machine, args: Args, kwargs: Words) -> Any:
    made = Class(args[0] if isinstance(args[0], str) else "Named", [])
    fields = args[1] if len(args) > 1 else ()
    if isinstance(fields, str):
        fields = fields.replace(",", " ").split()
    if not isinstance(fields, (list, tuple)):
        return Unknown()
    made.fields = [(f if isinstance(f, str) else f[0], None) for f in fields]
    names_ = [n for n, _ in made.fields]
    made.attrs["_fields"] = tuple(names_)
    made.attrs["__iter__"] = Native("__iter__", lambda m, args, kwargs: tuple(args[0].attrs.get(n) for n in names_))
    made.attrs["__getitem__"] = Native(
        "__getitem__", lambda m, args, kwargs: get_item(m, tuple(args[0].attrs.get(n) for n in names_), args[1])
    )
    return made


@function("operator.itemgetter", "operator.attrgetter", "builtins.super", "builtins.locals")
def _unknown(m: Machine, args: Args, kwargs: Words) -> Unknown:
    return Unknown()
