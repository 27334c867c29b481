# SPDX-License-Identifier: BSD-3-Clause
"""Calls: of functions and classes of the project, of modelled libraries, and of what cannot be read."""

from __future__ import annotations

import ast
from collections.abc import Generator
from itertools import islice
from math import inf
from typing import Any

from .containers import is_concrete
from .enums import member
from .loops import iterate
from .machine import Frame, Machine, Raised, Return, Scope
from .python_types import instance_of
from .values import Bound, Class, Dict, External, Function, List, Native, Object, Stream, Super, Tensor, Unknown

__all__ = ["MORE", "call", "call_expression", "instantiate"]

MORE = ("more",)
"""The key of what stands for arguments whose number cannot be told."""


_DICTS = ("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "collections.UserDict")
_LISTS = ("builtins.list", "collections.deque", "collections.UserList")


def _are_layers(values: List) -> bool:
    layers = [v for v in values if isinstance(v, Object) and v.cls.derives("torch.nn.Module")]
    return bool(layers) and len(layers) + sum(isinstance(v, Unknown) for v in values) == len(values)


def call_expression(m: Machine, function: Any, node: ast.Call, scope: Scope) -> Any:
    """Evaluates the arguments of a call and makes it."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for item in node.args:
        if isinstance(item, ast.Starred):
            several = m.evaluate(item.value, scope)
            spread = iterate(m, several)
            if isinstance(several, List) and _are_layers(several):
                # A list of layers that a loop has made: those that are known, and maybe others like them.
                args.extend(several)
                args.extend([Unknown(MORE)] if several.loose else [])
            elif spread.length is None and isinstance(several, Tensor):
                args.extend(islice(spread, max(1, _needs(function) - len(args) - len(node.keywords))))
            elif spread.length is None:
                if isinstance(function, External) and function.name == "builtins.zip" and len(node.args) == 1:
                    return _columns(m, several)
                args.append(Unknown())
            else:
                args.extend(spread)
        else:
            args.append(m.evaluate(item, scope))
    for word in node.keywords:
        value = m.evaluate(word.value, scope)
        if word.arg is not None:
            kwargs[word.arg] = value
        elif isinstance(value, dict):
            kwargs.update({k: v for k, v in value.items() if isinstance(k, str)})
            if getattr(value, "loose", False):
                kwargs["**"] = Unknown()
        else:
            kwargs["**"] = Unknown()
    if isinstance(function, External) and function.name == "builtins.super":
        return _super(m, args)
    if len(args) > _takes(function) and not any(isinstance(item, ast.Starred) for item in node.args):
        raise Raised("TypeError")
    frame = m.frames[-1]
    line = frame.line = node.func.end_lineno or node.lineno if isinstance(node.func, ast.Attribute) else node.lineno
    try:
        return call(m, function, args, kwargs)
    finally:
        frame.line = line


def _columns(m: Machine, rows: Any) -> Any:
    """`zip(*rows)` of rows of which there may be more than are known: columns as long as that."""
    walked = [iterate(m, row) for row in rows] if isinstance(rows, List) else []
    sizes = [row.length for row in walked if row.length is not None]
    if not sizes or len(sizes) < len(walked):
        return Unknown()
    found = []
    for column in zip(*walked, strict=False):
        made = List(column, m.short)
        made.loose = True
        found.append(made)
    return tuple(found)


def call(m: Machine, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Calls a value."""
    m.spend()
    if isinstance(function, Native):
        return _native(m, function, args, kwargs)
    if isinstance(function, Function):
        return _function(m, function, args, kwargs)
    if isinstance(function, Bound):
        return call(m, function.function, [function.owner, *args], kwargs)
    if isinstance(function, Class):
        return instantiate(m, function, args, kwargs)
    if isinstance(function, Object):
        return _object(m, function, args, kwargs)
    if function is None:
        return m.lack("TypeError")
    if isinstance(function, External):
        return m.call_external(function, args, kwargs)
    return m.call_unknown(function if isinstance(function, Unknown) else Unknown(), args, kwargs)


def _needs(function: Any) -> int:
    """How many arguments a function of the program cannot do without, as far as that can be told."""
    if isinstance(function, Object):
        found = function.cls.find("forward") or function.cls.find("__call__")
        return _needs(found[0]) - 1 if found else 0
    if isinstance(function, Bound):
        return _needs(function.function) - 1
    if isinstance(function, Class):
        found = function.find("__init__")
        return _needs(found[0]) - 1 if found else 0
    if not isinstance(function, Function):
        return 0
    spec = function.node.args
    return len(spec.posonlyargs) + len(spec.args) - len(function.defaults)


def _takes(function: Any) -> float:
    """How many arguments without a name a function of the program takes at most, as far as that can be told."""
    if isinstance(function, Bound):
        return _takes(function.function) - 1
    if isinstance(function, Class):
        found = function.find("__init__")
        return _takes(found[0]) - 1 if found and not function.find("__new__") else inf
    if not isinstance(function, Function) or function.node.args.vararg:
        return inf
    if isinstance(function.node, ast.FunctionDef) and function.node.decorator_list:
        return inf  # a decorator may take some for itself
    return len(function.node.args.posonlyargs) + len(function.node.args.args)


def _native(m: Machine, function: Native, args: list[Any], kwargs: dict[str, Any]) -> Any:
    kwargs.pop("**", None)
    try:
        return function.act(m, args, kwargs)
    except TypeError as error:
        # A model of a library function that is called in a way it does not know: the result is unknown.
        if error.__traceback__ is not None and error.__traceback__.tb_next is not None and _own(error):
            raise
        return Unknown()


def _own(error: TypeError) -> bool:
    """Whether a TypeError came from deeper than the signature of the model that was called."""
    return "argument" not in str(error)


def _super(m: Machine, args: list[Any]) -> Any:
    if len(args) == 2 and isinstance(args[0], Class):
        return Super(args[0], args[1])
    for frame in reversed(m.frames):
        if frame.cls is not None:
            return Super(frame.cls, frame.owner)
    return Unknown()


def _object(m: Machine, owner: Object, args: list[Any], kwargs: dict[str, Any]) -> Any:
    found = owner.cls.find("__call__")
    if found is None and owner.cls.derives("torch.nn.Module"):
        found = (owner.attrs["forward"], owner.cls) if "forward" in owner.attrs else owner.cls.find("forward")
        if found is not None and "forward" in owner.attrs:
            return call(m, found[0], args, kwargs)
    if found is None:
        return m.call_unknown(Unknown(), [owner, *args], kwargs)
    if "before" in owner.hidden or "after" in owner.hidden:
        args = m.before_forward(owner, args) if "before" in owner.hidden else args
        result = call(m, found[0], [owner, *args], kwargs)
        return m.after_forward(owner, args, result) if "after" in owner.hidden else result
    if "training" in owner.attrs:
        return m.remembered(owner, args, kwargs, lambda: call(m, found[0], [owner, *args], kwargs))
    return call(m, found[0], [owner, *args], kwargs)


def instantiate(m: Machine, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Makes an instance."""
    if cls.derives("enum.Enum"):
        return member(cls, args)
    made = Object(cls)
    if cls.derives("torch.nn.Module"):
        made.attrs["training"] = True
    for base in cls.order:
        if base.external in _DICTS:
            made.hidden["items"] = Dict(depth=m.short)
        elif base.external in _LISTS:
            made.hidden["items"] = List(depth=m.short)
        if base.external in ("collections.UserDict", "collections.UserList"):
            made.attrs["data"] = made.hidden["items"]
    init = cls.find("__init__")
    if init is None and cls.fields is not None:
        _fill(m, made, cls, args, kwargs)
        post = cls.find("__post_init__")
        if post:
            call(m, post[0], [made], {})
    elif init is not None:
        call(m, init[0], [made, *args], kwargs)
    elif made.hidden.get("items") is not None and (args or kwargs):
        if isinstance(made.hidden["items"], Dict):
            if args:
                _take(made.hidden["items"], args[0])
            made.hidden["items"].update(kwargs)
        elif args and isinstance(made.hidden["items"], list):
            made.hidden["items"].extend(list(args[0]) if isinstance(args[0], (list, tuple)) else [Unknown()])
    return made


def _take(box: Dict, source: Any) -> None:
    """`dict(source)` of a class of the program's own."""
    if isinstance(source, dict):
        box.update(source)
    box.loose = getattr(source, "loose", not isinstance(source, dict))


def _fill(m: Machine, made: Object, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> None:
    fields: dict[str, Any] = {}
    for base in reversed(cls.order):
        fields.update(base.fields or [])
    values = iter(args)
    for name, default in fields.items():
        if name in kwargs:
            made.attrs[name] = kwargs[name]
            continue
        given = next(values, values)
        if given is not values:
            made.attrs[name] = given
        elif isinstance(default, tuple) and default and default[0] == "factory":
            made.attrs[name] = call(m, default[1], [], {})
        else:
            made.attrs[name] = Unknown() if default is None else default[1]


def _function(m: Machine, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
    if len(m.frames) >= m.DEPTH or sum(f.scope.vars.get("\0") is function for f in m.frames) > 3:
        return m.call_unknown(Unknown(), args, kwargs)
    if function.cls is not None and args and isinstance(args[0], Object) and m.project.is_abstract(function.node):
        return m.call_unknown(_left_open(args[0], function.name), args[1:], kwargs)
    if "kinds" in function.attrs:
        return call(m, _dispatched(m, function, args), args, kwargs)
    cached = "cached" in function.marks
    key = _key([*args, *kwargs.values()]) if cached else None
    if cached and key in function.attrs.setdefault("cache", {}):
        return function.attrs["cache"][key][0]
    scope = Scope({"\0": function}, function.cells if isinstance(function.cells, Scope) else None, function.module)
    if scope.above is not None and scope.above.above is None and scope.above.vars is function.module.globals:
        scope.above = None
    _bind(m, function, args, kwargs, scope)
    m.enter(function)
    frame = Frame(function.name, function.module, scope)
    frame.line = function.node.lineno
    if function.cls is not None:
        frame.cls = function.cls
        frame.owner = args[0] if args else None
    if not isinstance(function.node, ast.Lambda) and m.project.is_generator(function.node):
        made = Stream(lambda: _generate(m, function, frame, scope), None, generator=True)
        made.fields["context"] = "context" in function.marks
        return made
    value = _body(m, function, frame, scope)
    if cached:
        m.changes.append(-1)
        function.attrs["cache"][key] = value, args  # what is known by its identity must live on
    return value


def _dispatched(m: Machine, function: Function, args: list[Any]) -> Any:
    """Which of several functions is called for an argument of that kind."""
    kinds = function.attrs["kinds"]
    subject = next(iter(args[function.cls is not None :]), None)
    answers = [instance_of(m, subject, kind) for kind, _ in kinds]
    if True in answers:
        return kinds[answers.index(True)][1]
    if None in answers:
        return Unknown()
    general = Function(function.node, function.module, function.cells, function.name)
    general.cls, general.defaults, general.kwdefaults = function.cls, function.defaults, function.kwdefaults
    return general


def _left_open(owner: Object, name: str) -> Unknown:
    """A method that only raises NotImplementedError: that of a class that is not read."""
    found = owner.hidden.get(f"open {name}")
    if not isinstance(found, Unknown):
        found = owner.hidden[f"open {name}"] = Unknown(("open", owner.cls.name, name))
        found.instance = True
    return found


def _key(args: list[Any]) -> Any:
    """What a cache knows a call by. Arguments that cannot be told are taken to come again: that is what caches are for."""
    return tuple(
        a if is_concrete(a) and not isinstance(a, (list, dict, set)) else None if isinstance(a, Unknown) else id(a)
        for a in args
    )


def _body(m: Machine, function: Function, frame: Frame, scope: Scope) -> Any:
    grad = m.grad
    decorated = bool(function.marks & {"no_grad", "enable_grad"})
    if decorated:
        m.grad = "no_grad" not in function.marks
    m.frames.append(frame)
    try:
        if isinstance(function.node, ast.Lambda):
            return m.evaluate(function.node.body, scope)
        signal = m.block(function.node.body, scope)
        m.returned = (frame.module, frame.line)
        return signal.value if isinstance(signal, Return) else None
    finally:
        m.frames.pop()
        if decorated:
            m.grad = grad


def _generate(m: Machine, function: Function, frame: Frame, scope: Scope) -> Generator[Any, Any, None]:
    inner = m.yields(function.node.body, scope)  # type: ignore[arg-type]
    sent: Any = None
    while True:
        m.frames.append(frame)
        try:
            value = inner.send(sent)
        except StopIteration:
            return
        finally:
            m.frames.remove(frame)
        sent = yield value


def _bind(m: Machine, function: Function, args: list[Any], kwargs: dict[str, Any], scope: Scope) -> None:
    spec = function.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    values = scope.vars
    loose = "**" in kwargs
    for name, value in zip(names, args, strict=False):
        values[name] = value
    if spec.vararg:
        values[spec.vararg.arg] = tuple(args[len(names) :])
    extra = Dict(depth=m.short)
    known = {*names, *(a.arg for a in spec.kwonlyargs)}
    for name, value in kwargs.items():
        if name in known:
            values[name] = value
        elif name != "**":
            extra[name] = value
    if spec.kwarg:
        extra.loose = loose
        values[spec.kwarg.arg] = extra
    first_default = len(names) - len(function.defaults)
    for position, name in enumerate(names):
        if name not in values:
            if position >= first_default and not loose:
                values[name] = function.defaults[position - first_default]
            else:
                values[name] = given = Unknown(("argument", function.module.file, function.node.lineno, name))
                given.instance = True
    for arg in spec.kwonlyargs:
        if arg.arg not in values:
            default = function.kwdefaults.get(arg.arg, function)
            if default is function:
                default = Unknown(("argument", function.node.lineno, arg.arg))
                default.instance = True
            values[arg.arg] = default
    declared = m.project.declared(function.node)
    if declared:
        scope.outside = declared
