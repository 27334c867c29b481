# SPDX-License-Identifier: BSD-3-Clause
"""Functions and classes: definitions and their decorators."""

from __future__ import annotations

import ast
from typing import Any

from .contexts import Switch
from .enums import make_members
from .library import library_class
from .machine import Frame, Machine, Scope
from .names import bind
from .values import Bound, Class, External, Function, Native, Object, Unknown

__all__ = ["define_class", "define_function"]

_MARKS = {
    "builtins.staticmethod": "static",
    "builtins.classmethod": "class",
    "builtins.property": "property",
    "functools.cached_property": "property",
    "contextlib.contextmanager": "context",
    "torch.no_grad": "no_grad",
    "torch.inference_mode": "no_grad",
    "torch.enable_grad": "enable_grad",
    "functools.lru_cache": "cached",
    "functools.cache": "cached",
    "abc.abstractmethod": "abstract",
    "functools.singledispatch": "dispatch",
    "functools.singledispatchmethod": "dispatch",
}


def define_function(m: Machine, node: Any, scope: Scope) -> None:
    """`def`, with its decorators."""
    bind(scope, node.name, _decorated(m, node, m.make_function(node, scope, node.name), scope))


def _decorated(m: Machine, node: Any, made: Any, scope: Scope) -> Any:
    for decorator in reversed(node.decorator_list):
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "deleter"):
            old = m.evaluate(decorator.value, scope)
            if isinstance(old, Function):
                if decorator.attr == "setter":
                    old.attrs["setter"] = made
                made = old
            continue
        if isinstance(decorator, ast.Call) and _name(m, decorator, scope) == "functools.lru_cache":
            decorator = decorator.func
        value = m.evaluate(decorator, scope)
        name = value.name if isinstance(value, External) else ""
        if name in _MARKS and isinstance(made, Function):
            made.marks.add(_MARKS[name])
            if name == "functools.cached_property":
                made.marks.add("cached")
        elif isinstance(value, Switch) and isinstance(made, Function):
            made.marks.add("enable_grad" if value.grad else "no_grad")
        elif isinstance(value, (Function, Bound, Native)):
            wrapped = m.call(value, [made], {})
            # A decorator that gives back something we cannot read is taken to leave what it is given as it is.
            kinds = Class if isinstance(made, Class) else (Function, Bound, Class, Object, Native)
            made = wrapped if isinstance(wrapped, kinds) else made
        elif isinstance(value, Class) and not value.unknown and isinstance(made, Function):
            wrapped = m.call(value, [made], {})
            made = wrapped if isinstance(wrapped, Object) else made
    return made


def define_class(m: Machine, node: ast.ClassDef, scope: Scope) -> None:
    """`class`: executes the body and collects what it defines."""
    bases: list[Any] = []
    plain: list[str] = []
    for base in node.bases:
        if isinstance(base, ast.Starred):
            continue
        value = m.evaluate(base, scope)
        if isinstance(value, External):
            value = library_class(_MEANT.get(value.name, value.name)) or value
        if isinstance(value, External) and value.name in _HARMLESS:
            continue
        bases.append(value)
    if any(isinstance(b, Class) and b.derives("enum.Enum") for b in bases):
        plain = [b.name for b in bases if isinstance(b, External)]
        bases = [b for b in bases if not (isinstance(b, External) and b.name.startswith("builtins."))]
    made = Class(node.name, bases, scope.module)
    made.node = node
    inner = Scope({}, scope if scope.vars is not scope.module.globals else None, scope.module)
    frame = Frame(node.name, scope.module, inner)
    m.frames.append(frame)
    try:
        m.block(node.body, inner)
    finally:
        m.frames.pop()
    made.attrs = inner.vars
    for name, value in list(inner.vars.items()):
        if isinstance(value, Object) and (told := value.cls.find("__set_name__")) is not None:
            m.call(told[0], [value, made, name], {})
        if isinstance(value, Function):
            _claim(value, made)
        elif isinstance(value, Bound) and isinstance(value.function, Function):
            _claim(value.function, made)
    names = {_name(m, d, scope) for d in node.decorator_list}
    if names & {"dataclasses.dataclass", "struct.dataclass", "attr.s", "attrs.define"} or made.derives(
        "typing.NamedTuple"
    ):
        made.fields = _fields(m, node, inner)
    if made.derives("enum.Enum"):
        make_members(m, made, plain)
    told = next((c.attrs["__init_subclass__"] for c in made.order[1:] if "__init_subclass__" in c.attrs), None)
    if isinstance(told, Function):
        told.marks.add("class")
        m.call(
            told, [made], {w.arg: m.evaluate(w.value, scope) for w in node.keywords if w.arg not in (None, "metaclass")}
        )
    bind(scope, node.name, _decorated(m, node, made, scope))


_MEANT = {"typing.TypedDict": "builtins.dict", "typing_extensions.TypedDict": "builtins.dict"}
"""Bases that are written for others: an instance of a `TypedDict` is a dictionary."""

_HARMLESS = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}


def _claim(function: Function, cls: Class) -> None:
    # Functions of the body see the names around the class, not those in it.
    function.cls = function.cls or cls
    if isinstance(function.cells, Scope) and function.cells.vars is cls.attrs:
        function.cells = function.cells.above


def _name(m: Machine, node: ast.expr, scope: Scope) -> str:
    value = m.evaluate(node.func if isinstance(node, ast.Call) else node, scope)
    return value.name if isinstance(value, External) else ""


def _fields(m: Machine, node: ast.ClassDef, scope: Scope) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for item in node.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        if "ClassVar" in ast.dump(item.annotation):
            continue
        default: Any = None
        if isinstance(item.value, ast.Call) and "field" in ast.unparse(item.value.func):
            for word in item.value.keywords:
                if word.arg == "default_factory":
                    default = ("factory", m.evaluate(word.value, scope))
                elif word.arg == "default":
                    default = ("value", m.evaluate(word.value, scope))
        elif item.value is not None:
            default = ("value", scope.vars.get(item.target.id, Unknown()))
        found.append((item.target.id, default))
        scope.vars.pop(item.target.id, None)
    return found
