# SPDX-License-Identifier: BSD-3-Clause
"""The patterns of `match`: whether a value fits one, as far as that can be told, and what it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .attributes import get_attribute, has_attribute
from .expressions import evaluate
from .items import get_item
from .machine import Machine, Scope
from .names import bind
from .operators import compare
from .python_types import instance_of
from .values import Class, Dict, List, Object, Unknown, length

__all__ = ["fits"]

Answers = Iterator[bool | None]


def fits(m: Machine, pattern: ast.pattern, value: Any, scope: Scope) -> bool | None:
    """Whether a value fits a pattern; None where that cannot be told. What the pattern binds is bound."""
    return _all(_MEANING[type(pattern)](m, pattern, value, scope))


def _all(answers: Answers) -> bool | None:
    """Whether all are so: nothing is asked that comes after a no."""
    known: bool | None = True
    for answer in answers:
        if answer is False:
            return False
        known = known and answer
    return known


def _value(m: Machine, pattern: ast.MatchValue, value: Any, scope: Scope) -> Answers:
    yield m.known_truth(compare(m, ast.Eq(), value, evaluate(m, pattern.value, scope)))


def _singleton(m: Machine, pattern: ast.MatchSingleton, value: Any, scope: Scope) -> Answers:
    yield m.known_truth(compare(m, ast.Is(), value, pattern.value))


def _as(m: Machine, pattern: ast.MatchAs, value: Any, scope: Scope) -> Answers:
    if pattern.pattern is not None:
        yield fits(m, pattern.pattern, value, scope)
    if pattern.name:
        bind(scope, pattern.name, value, m)


def _or(m: Machine, pattern: ast.MatchOr, value: Any, scope: Scope) -> Answers:
    known: bool | None = False
    for each in pattern.patterns:
        answer = fits(m, each, value, scope)
        if answer:
            known = True
            break
        known = None if answer is None else known
    yield known


def _sequence(m: Machine, pattern: ast.MatchSequence, value: Any, scope: Scope) -> Answers:
    stars = [i for i, p in enumerate(pattern.patterns) if isinstance(p, ast.MatchStar)]
    if isinstance(value, Object) and value.cls.derives("typing.NamedTuple"):
        value = get_attribute(m, value, "_fields") and tuple(m.call(get_attribute(m, value, "__iter__"), [], {}))
    if not isinstance(value, (list, tuple)):
        yield None if isinstance(value, (Unknown, Object)) else False
        parts: list[Any] = [Unknown() for _ in pattern.patterns]
    elif length(value) is None:
        yield None
        parts = [value[i] if i < len(value) else Unknown() for i in range(len(pattern.patterns))]
    else:
        more = len(value) - len(pattern.patterns)
        yield more >= -1 if stars else more == 0
        parts = list(value)
        for star in stars:
            parts[star : star + more + 1] = [List(parts[star : star + more + 1], m.short)]
    for each, part in zip(pattern.patterns, parts, strict=True):
        yield fits(m, each, part, scope)


def _star(m: Machine, pattern: ast.MatchStar, value: Any, scope: Scope) -> Answers:
    if pattern.name:
        bind(scope, pattern.name, value, m)
    yield True


def _mapping(m: Machine, pattern: ast.MatchMapping, value: Any, scope: Scope) -> Answers:
    yield True if isinstance(value, dict) else None if isinstance(value, (Unknown, Object)) else False
    keys = [evaluate(m, key, scope) for key in pattern.keys]
    for key, each in zip(keys, pattern.patterns, strict=True):
        if isinstance(value, Dict) and key not in value:
            yield None if length(value) is None else False
        yield fits(m, each, get_item(m, value, key), scope)
    if pattern.rest:
        known = isinstance(value, dict)
        bind(scope, pattern.rest, Dict({k: v for k, v in value.items() if k not in keys}) if known else Unknown(), m)


def _class(m: Machine, pattern: ast.MatchClass, value: Any, scope: Scope) -> Answers:
    kind = evaluate(m, pattern.cls, scope)
    yield instance_of(m, value, kind)
    names: Any = ()
    if isinstance(kind, Class):
        names = next((c.attrs["__match_args__"] for c in kind.order if "__match_args__" in c.attrs), None)
        names = names or [n for c in reversed(kind.order) for n, _ in c.fields or ()]
    elif len(pattern.patterns) == 1:
        yield fits(m, pattern.patterns[0], value, scope)  # `str(name)`
    words = zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)
    for name, each in [*zip(names, pattern.patterns, strict=False), *words]:
        yield has_attribute(m, value, name)
        yield fits(m, each, get_attribute(m, value, name), scope)


_MEANING: dict[type, Any] = {
    ast.MatchValue: _value,
    ast.MatchSingleton: _singleton,
    ast.MatchAs: _as,
    ast.MatchOr: _or,
    ast.MatchSequence: _sequence,
    ast.MatchStar: _star,
    ast.MatchMapping: _mapping,
    ast.MatchClass: _class,
}
