# SPDX-License-Identifier: BSD-3-Clause
"""Built-in functions and the parts of the standard library that training code leans on."""

from __future__ import annotations

import ast
import math
import random
from typing import Any

from . import argparse_model, holders, processes  # noqa: F401 - register
from .attributes import get_attribute
from .containers import contains, is_concrete, method
from .contexts import Switch, enter, leave
from .copies import copied
from .items import get_item, set_item
from .iterables import some
from .library import FUNCTIONS, function, models
from .machine import Machine
from .names import import_name
from .nodes import measured
from .operators import augmented, binary, compare, unary
from .values import Class, Dict, External, Function, List, Module, Native, Object, Tensor, Unknown, identity

__all__: list[str] = []

Args = list[Any]
Words = dict[str, Any]


_OBJECT = Class("object", [])


@function("builtins.dict", "collections.OrderedDict", "weakref.WeakValueDictionary", "weakref.WeakKeyDictionary")
def _dict(m: Machine, args: Args, kwargs: Words) -> Any:
    made = Dict(depth=m.short)
    if args:
        source = args[0]
        if isinstance(source, dict):
            made.update(source)
            made.loose = bool(getattr(source, "loose", False))
        else:
            found, whole = some(m, source)
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
    found, whole = some(m, args[0])
    newest = measured((args[0],))
    known = whole and is_concrete(found)
    return set(found) if known else Unknown(("measured", newest, Unknown().key) if newest else None, plain=True)


@function("builtins.sum")
def _sum(m: Machine, args: Args, kwargs: Words) -> Any:
    found, whole = some(m, args[0])
    total: Any = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if not whole and is_concrete(found):
        return Unknown(plain=True)
    for item in found:
        total = binary(m, ast.Add(), total, item)
    return total if whole or isinstance(total, Tensor) else Unknown(plain=getattr(total, "plain", True))


@function("builtins.min", "builtins.max")
def _extreme(m: Machine, args: Args, kwargs: Words) -> Any:
    values = args if len(args) > 1 else some(m, args[0])[0]
    if any(isinstance(v, Tensor) for v in values):
        return next(v for v in values if isinstance(v, Tensor))
    return Unknown(plain=True)


def _too_long(name: str, args: Args) -> bool:
    """Whether to compute it could take for ever: no limit of ours stops a computation inside Python's own code."""
    if name in ("pow", "factorial", "comb", "perm"):
        return any(isinstance(a, int) and abs(a) > 1_000 for a in args)
    return any(isinstance(a, range) and len(a) > 10_000 for a in args)


def _pure(name: str, real: Any) -> Any:
    def act(m: Machine, args: Args, kwargs: Words) -> Any:
        if is_concrete(list(args)) and is_concrete(kwargs) and not _too_long(name, args):
            try:
                found = real(*args, **kwargs)
            except Exception:  # whatever the program's own values do not allow
                return Unknown(plain=True)
            return found if is_concrete(found) else Unknown(plain=True)
        own = args[0].cls.find(f"__{name}__") if args and isinstance(args[0], Object) else None
        if own is not None:
            return m.call(own[0], args, {})
        if any(isinstance(a, Tensor) for a in args) and name in ("abs", "round"):
            return m.operate(name, list(args), {})
        if name in ("min", "max"):
            return _extreme(m, args, kwargs)
        newest = measured(args)
        return Unknown(("measured", newest, name, identity(tuple(args))) if newest else None, plain=True)

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
            number = Unknown(("measured", value.age, value.store.serial, value.store.count), plain=True)
            number.lost = value.lost
            if value.needs and m.grad and name in ("int", "float"):
                number.lost = m.engine.cut("item", value.name, m.place(), value.edge)
            return number
        if name == "bool":
            known = m.known_truth(value)
            return known if known is not None else value
        if is_concrete(list(args)):
            try:
                return real(*args)
            except Exception:  # whatever the program's own values do not allow
                return Unknown(plain=True)
        return Unknown(("as", name, identity(value)), plain=True)

    FUNCTIONS[f"builtins.{name}"] = act


for _name, _type in {"int": int, "float": float, "str": str, "bool": bool}.items():
    _convert(_name, _type)


@function("importlib.import_module")
def _import_module(m: Machine, args: Args, kwargs: Words) -> Any:
    name = args[0] if args else kwargs.get("name")
    package = args[1] if len(args) > 1 else kwargs.get("package")
    if isinstance(name, str) and name.startswith(".") and isinstance(package, str):
        name = package + name
    if not isinstance(name, str) or not name or name.startswith("."):
        return Unknown()
    found = import_name(m, name, 0, m.frames[-1].scope)
    if isinstance(found, Module):
        m.execute(found)
    return found


@function("builtins.__import__")
def _import(m: Machine, args: Args, kwargs: Words) -> Any:
    whole = len(args) > 3 or "fromlist" in kwargs
    name = args[0].partition(".")[0] if args and isinstance(args[0], str) and not whole else args[0] if args else None
    return _import_module(m, [name], {})


@function("builtins.id", "builtins.hash")
def _id(m: Machine, args: Args, kwargs: Words) -> int:
    return id(args[0])


@function("builtins.print", "builtins.input")
def _print(m: Machine, args: Args, kwargs: Words) -> None:
    return None


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


@function("copy.deepcopy")
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
    if isinstance(value, Tensor):
        alike = Tensor(value.needs, store=value.store)  # as it is pickled: the same memory, a leaf without history
        if value.needs:
            m.engine.leaf(alike)
        return alike
    return value


@function("random.sample", "random.choices")
def _sample(m: Machine, args: Args, kwargs: Words) -> Any:
    box, count = args[0], args[1] if len(args) > 1 else kwargs.get("k", 1)
    if not isinstance(box, List) or is_concrete(box):
        return Unknown(plain=True)
    # Sooner or later every element is drawn: those that have been in there the longest, too.
    made = List(box[:count] if isinstance(count, int) else box, m.short)
    made.loose = True
    return made


@function("heapq.heappush", "bisect.insort", "bisect.insort_left", "bisect.insort_right")
def _push(m: Machine, args: Args, kwargs: Words) -> Any:
    """Puts something into a list that is kept in order."""
    return method(m, args[0], "append").act(m, args[1:2], {}) if isinstance(args[0], List) else Unknown()


@function("heapq.heappop")
def _pop(m: Machine, args: Args, kwargs: Words) -> Any:
    return method(m, args[0], "pop").act(m, [0], {}) if isinstance(args[0], List) else Unknown()


_FULL = 8
"""Known elements of a heap whose size cannot be told, above which one is let go for each that comes."""


def _pushed_out(m: Machine, args: Args, kwargs: Words) -> Any:
    """Puts something into a heap that is full, and takes the smallest out: some stay for good, others do not."""
    _push(m, args, kwargs)
    box = args[0]
    if not isinstance(box, List):
        return Unknown()
    box.forgets = True
    return box.pop(len(box) // 2) if len(box) > _FULL or not box.loose else box[0]


for _name in ("heappushpop", "heapreplace"):
    FUNCTIONS[f"heapq.{_name}"] = _pushed_out


@function("heapq.nlargest", "heapq.nsmallest")
def _first(m: Machine, args: Args, kwargs: Words) -> Any:
    return _sample(m, [args[1], args[0]], {}) if len(args) > 1 else Unknown()


@function("random.choice")
def _choice(m: Machine, args: Args, kwargs: Words) -> Any:
    box = args[0]
    return box[0] if isinstance(box, List) and box and not is_concrete(box) else Unknown(plain=is_concrete(box))


@function("random.random", "numpy.random.rand", "numpy.random.random", "numpy.random.random_sample")
def _draw(m: Machine, args: Args, kwargs: Words) -> Unknown:
    return Unknown(plain=True) if args or kwargs else Unknown(("drawn", Unknown().key), plain=True)


def _drawn(name: str) -> Any:
    """A method of a generator of one's own: what the function of that name does with the common one."""
    return lambda m, args, kwargs: m.call_external(External(f"random.{name}"), args[1:], kwargs)


models(
    "random.Random",
    __init__=lambda m, args, kwargs: None,
    **{name: _drawn(name) for name in dir(random.Random) if not name.startswith("_")},
)


@function("functools.partial")
def _partial(m: Machine, args: Args, kwargs: Words) -> Any:
    act, first = args[0], list(args[1:])
    return Native("partial", lambda m, more, words: m.call(act, [*first, *more], {**kwargs, **words}))


@function("functools.wraps", "functools.lru_cache", "functools.cache", "functools.total_ordering")
def _wraps(m: Machine, args: Args, kwargs: Words) -> Any:
    return External("functools.wraps.done")


@function(
    "weakref.proxy", "functools.wraps.done", "abc.abstractmethod", "torch.jit.export", "typing.overload", "typing.cast"
)
def _as_is(m: Machine, args: Args, kwargs: Words) -> Any:
    return args[-1]


@function("functools.reduce")
def _reduce(m: Machine, args: Args, kwargs: Words) -> Any:
    found, _ = some(m, args[1])
    values = [args[2], *found] if len(args) > 2 else found
    total = values[0] if values else Unknown()
    for item in values[1:]:
        total = m.call(args[0], [total, item], {})
    return total


@function("builtins.object.__setattr__")
def _set_attribute(m: Machine, args: Args, kwargs: Words) -> None:
    get_attribute(m, _OBJECT, "__setattr__").act(m, args, kwargs)


@function("weakref.ref", "weakref.WeakMethod")
def _reference(m: Machine, args: Args, kwargs: Words) -> Native:
    """What it refers to lives as long as the program uses it."""
    return Native("ref", lambda m, given, words: args[0])


@function("builtins.property")
def _property(m: Machine, args: Args, kwargs: Words) -> Any:
    """`property(get, set)`"""
    read, write = [*args, None, None][:2]
    read, write = kwargs.get("fget", read), kwargs.get("fset", write)
    if not isinstance(read, Function):
        return Unknown()
    made = Function(read.node, read.module, read.cells, read.name)
    made.defaults, made.kwdefaults, made.marks = read.defaults, read.kwdefaults, {*read.marks, "property"}
    made.attrs["setter"] = write
    return made


@function("functools.partialmethod")
def _partial_method(m: Machine, args: Args, kwargs: Words) -> Any:
    act, first = args[0], list(args[1:])
    return Native(
        "partialmethod", lambda m, more, words: m.call(act, [more[0], *first, *more[1:]], {**kwargs, **words})
    )


@function("contextlib.suppress")
def _suppress(m: Machine, args: Args, kwargs: Words) -> Switch:
    kinds = tuple(a.name.rpartition(".")[2] for a in args if isinstance(a, (External, Class)))
    return Switch(None, kinds)


def _enter_context(m: Machine, args: Args, kwargs: Words) -> Any:
    value, state = enter(m, args[1])
    args[0].hidden.setdefault("entered", []).append(lambda: leave(m, state, None))
    return value


def _callback(m: Machine, args: Args, kwargs: Words) -> Any:
    args[0].hidden.setdefault("entered", []).append(lambda: m.call(args[1], args[2:], kwargs))
    return args[1]


def _leave_all(m: Machine, args: Args, kwargs: Words) -> bool:
    entered = args[0].hidden.get("entered", [])
    while entered:
        entered.pop()()
    return False


models(
    "contextlib.ExitStack",
    __init__=lambda m, args, kwargs: None,
    __enter__=lambda m, args, kwargs: args[0],
    __exit__=_leave_all,
    enter_context=_enter_context,
    callback=_callback,
    close=_leave_all,
)


models(
    "contextlib.nullcontext",
    __init__=lambda m, args, kwargs: args[0].hidden.update(result=[*args[1:], *kwargs.values(), None][0]),
    __enter__=lambda m, args, kwargs: args[0].hidden["result"],
    __exit__=lambda m, args, kwargs: None,
)


@function("math.isnan", "math.isinf", "numpy.isnan", "numpy.isinf", "torch.isnan", "torch.isinf")
def _not_finite(m: Machine, args: Args, kwargs: Words) -> Unknown:
    # Reading is about programs whose numbers are sound; what they do otherwise is not what they do.
    return Unknown(("likely", False, Unknown().key), plain=True)


@function("math.isfinite", "numpy.isfinite", "torch.isfinite")
def _finite(m: Machine, args: Args, kwargs: Words) -> Unknown:
    return Unknown(("likely", True, Unknown().key), plain=True)


for _name in ("dict", "list"):
    models(f"builtins.{_name}")

for _name in ("OrderedDict", "defaultdict", "deque", "UserDict", "UserList"):
    models(f"collections.{_name}")


@function("pytest.raises", "unittest.TestCase.assertRaises")
def _expected(m: Machine, args: Args, kwargs: Words) -> Switch:
    return Switch(None, ("expected",))


def _names(cls: Class) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n for c in reversed(cls.order) for n, _ in c.fields or ()))


def _fields(owner: Object) -> Dict:
    return Dict({n: owner.attrs.get(n, Unknown()) for n in _names(owner.cls)})


@function("dataclasses.replace", "copy.replace")
def _replaced(m: Machine, args: Args, kwargs: Words) -> Object:
    made = Object(args[0].cls)
    made.attrs = {**args[0].attrs, **kwargs}
    return made


_FIELD = models("dataclasses.Field")


@function("dataclasses.fields")
def _fields_of(m: Machine, args: Args, kwargs: Words) -> Any:
    """What describes the fields, of which the names are known."""
    cls = args[0] if isinstance(args[0], Class) else args[0].cls
    made = [Object(_FIELD) for _ in _names(cls)]
    for field, name in zip(made, _names(cls), strict=True):
        field.attrs.update(name=name, **{n: Unknown(plain=True) for n in ("type", "default", "metadata", "init")})
    return tuple(made) if made and not cls.unknown else Unknown(plain=True)


def _in_full(m: Machine, value: Any, how: type[Dict] | type[tuple[Any, ...]]) -> Any:
    """`asdict` and `astuple` go down into fields and containers, and copy everything else."""
    if isinstance(value, Object) and value.cls.fields is not None and not value.cls.derives("typing.NamedTuple"):
        parts = {n: _in_full(m, v, how) for n, v in _fields(value).items()}
        return Dict(parts, m.short) if how is Dict else tuple(parts.values())
    if type(value) is tuple:
        return tuple(_in_full(m, v, how) for v in value)
    return copied(m, value, {})


@function("dataclasses.asdict")
def _as_dict(m: Machine, args: Args, kwargs: Words) -> Any:
    return _in_full(m, args[0], Dict)


@function("dataclasses.astuple")
def _as_tuple(m: Machine, args: Args, kwargs: Words) -> Any:
    return _in_full(m, args[0], tuple)


_NAMED = models(
    "typing.NamedTuple",
    __iter__=lambda m, args, kwargs: tuple(_fields(args[0]).values()),
    __getitem__=lambda m, args, kwargs: get_item(m, tuple(_fields(args[0]).values()), args[1]),
    __len__=lambda m, args, kwargs: len(_fields(args[0])),
    _asdict=lambda m, args, kwargs: _fields(args[0]),
    _replace=_replaced,
)
_NAMED.attrs["_make"] = Native("class:_make", lambda m, args, kwargs: m.call(args[0], some(m, args[1], 40)[0], {}))


@function("collections.namedtuple", "typing.NamedTuple")
def _namedtuple(m: Machine, args: Args, kwargs: Words) -> Any:
    made = Class(args[0] if isinstance(args[0], str) else "Named", [_NAMED])
    fields = args[1] if len(args) > 1 else kwargs.get("field_names", ())
    if isinstance(fields, str):
        fields = fields.replace(",", " ").split()
    if not isinstance(fields, (list, tuple)):
        return Unknown()
    made.fields = [(f if isinstance(f, str) else f[0], None) for f in fields]
    made.attrs["_fields"] = tuple(n for n, _ in made.fields)
    return made


@function("builtins.locals")
def _locals(m: Machine, args: Args, kwargs: Words) -> Any:
    """What the names of the function are bound to: a copy, or those of the module themselves."""
    frame = m.frames[-1]
    if frame.scope.vars is frame.module.globals:
        return _globals(m, args, kwargs)
    return Dict({n: v for n, v in frame.scope.vars.items() if n != "\0"}, m.short)


@function("operator.itemgetter")
def _itemgetter(m: Machine, args: Args, kwargs: Words) -> Native:
    def act(m: Machine, given: Args, words: Words) -> Any:
        found = tuple(get_item(m, given[0], key) for key in args)
        return found[0] if len(found) == 1 else found

    return Native("itemgetter", act)


@function("operator.attrgetter")
def _attrgetter(m: Machine, args: Args, kwargs: Words) -> Native:
    def one(m: Machine, value: Any, path: Any) -> Any:
        for name in path.split("."):
            value = get_attribute(m, value, name)
        return value

    def act(m: Machine, given: Args, words: Words) -> Any:
        found = tuple(one(m, given[0], path) if isinstance(path, str) else Unknown() for path in args)
        return found[0] if len(found) == 1 else found

    return Native("attrgetter", act)


@function("operator.methodcaller")
def _methodcaller(m: Machine, args: Args, kwargs: Words) -> Native:
    return Native("methodcaller", lambda m, given, words: m.call(get_attribute(m, given[0], args[0]), args[1:], kwargs))


def _operator(act: Any, op: Any) -> Any:
    return lambda m, args, kwargs: act(m, op, args[0], args[1])


_OPERATORS: dict[str, ast.operator] = {
    "add": ast.Add(), "sub": ast.Sub(), "mul": ast.Mult(), "truediv": ast.Div(), "matmul": ast.MatMult(), "pow": ast.Pow(),
    "floordiv": ast.FloorDiv(), "mod": ast.Mod(), "or_": ast.BitOr(), "concat": ast.Add(),
}  # fmt: skip
for _name, _op in _OPERATORS.items():
    FUNCTIONS[f"operator.{_name}"] = _operator(binary, _op)
    FUNCTIONS[f"operator.i{_name.rstrip('_')}"] = _operator(lambda m, op, a, b: augmented(m, op, a, b, ""), _op)

_COMPARISONS: dict[str, ast.cmpop] = {
    "eq": ast.Eq(), "ne": ast.NotEq(), "lt": ast.Lt(), "le": ast.LtE(), "gt": ast.Gt(), "ge": ast.GtE(), "is_": ast.Is(),
    "is_not": ast.IsNot(),
}  # fmt: skip
for _name, _comparison in _COMPARISONS.items():
    FUNCTIONS[f"operator.{_name}"] = _operator(compare, _comparison)

FUNCTIONS["operator.getitem"] = lambda m, args, kwargs: get_item(m, args[0], args[1])
FUNCTIONS["operator.setitem"] = lambda m, args, kwargs: set_item(m, args[0], args[1], args[2])
FUNCTIONS["operator.contains"] = lambda m, args, kwargs: contains(m, ast.In(), args[1], args[0])
FUNCTIONS["operator.neg"] = lambda m, args, kwargs: unary(m, ast.USub(), args[0])
FUNCTIONS["operator.not_"] = lambda m, args, kwargs: unary(m, ast.Not(), args[0])
FUNCTIONS["operator.call"] = lambda m, args, kwargs: m.call(args[0], args[1:], kwargs)


@function("builtins.super")
def _unknown(m: Machine, args: Args, kwargs: Words) -> Unknown:
    return Unknown()
