# SPDX-License-Identifier: BSD-3-Clause
"""Comprehensions and generator expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from .containers import is_concrete
from .items import set_item
from .loops import iterate, turns
from .machine import Machine, Scope
from .values import Dict, List, Stream, Unknown

__all__ = ["dict_comprehension", "generator_expression", "list_comprehension", "set_comprehension"]


def _comprehension(m: Machine, node: Any, scope: Scope) -> Iterator[Scope]:
    """The scopes in which the element is to be evaluated, one after the other."""
    yield from _generators(m, node.generators, Scope({}, scope, scope.module), scope, node)


def _generators(m: Machine, clauses: list[ast.comprehension], inner: Scope, outer: Scope, node: Any) -> Iterator[Scope]:
    clause, rest = clauses[0], clauses[1:]
    source = m.evaluate(clause.iter, outer)
    for item in turns(m, source, node.lineno, counted=False):
        m.assign(clause.target, item, inner)
        if all(m.truth(m.evaluate(test, inner)) for test in clause.ifs):
            if rest:
                yield from _generators(m, rest, inner, inner, node)
            else:
                yield inner


def list_comprehension(m: Machine, node: ast.ListComp, scope: Scope) -> Any:
    """`[f(x) for x in y]`"""
    made = List(depth=m.short)
    before = m.cuts
    for inner in _comprehension(m, node, scope):
        made.append(m.evaluate(node.elt, inner))
    made.loose = m.cuts > before
    return m.placed(made)


def set_comprehension(m: Machine, node: ast.SetComp, scope: Scope) -> Any:
    """`{f(x) for x in y}`"""
    before = m.cuts
    values = [m.evaluate(node.elt, inner) for inner in _comprehension(m, node, scope)]
    return set(values) if is_concrete(values) and m.cuts == before else Unknown(plain=True)


def dict_comprehension(m: Machine, node: ast.DictComp, scope: Scope) -> Any:
    """`{k: v for k, v in y}`"""
    made = Dict(depth=m.short)
    before = m.cuts
    for inner in _comprehension(m, node, scope):
        set_item(m, made, m.evaluate(node.key, inner), m.evaluate(node.value, inner))
    made.loose = made.loose or m.cuts > before
    return made


def generator_expression(m: Machine, node: ast.GeneratorExp, scope: Scope) -> Any:
    """`(f(x) for x in y)`"""

    def make() -> Iterator[Any]:
        for inner in _comprehension(m, node, scope):
            yield m.evaluate(node.elt, inner)

    length = None
    if len(node.generators) == 1 and not node.generators[0].ifs:
        # The source of the first clause is evaluated at once, as Python does; its length is the stream's.
        source = m.evaluate(node.generators[0].iter, scope)
        length = iterate(m, source).length

        def make() -> Iterator[Any]:
            inner = Scope({}, scope, scope.module)
            for item in iterate(m, source):
                m.assign(node.generators[0].target, item, inner)
                yield m.evaluate(node.elt, inner)

    return Stream(make, length, generator=True)
