# SPDX-License-Identifier: BSD-3-Clause
"""Whether two passes start from one loss that was computed twice of what a forward had left.

NOTE [ The same loss, computed twice ]
1. Each of the two passes has nodes of its own, beside those that both walk: as many, and of the same operations as far as the
   first pass's were looked at. What the second one's are built on, the first one walked.
2. Where the values of both roots are known, they say whether it is one loss: other targets give other values. Zero says nothing.
3. Where they are not, both passes must be one expression, written twice or run twice, of which nothing was assigned in between,
   and which calls nothing that may give something else the next time.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter

from ...record import Node, Pass, Place
from ...source import Source, expression, root_of
from .lines import source_of
from .meeting import Meeting, count_of

__all__ = ["said_again"]

_PLAIN = frozenset("sum abs max min float len tuple list".split())


def said_again(m: Meeting) -> bool:
    """See the NOTE."""
    freed, used = m.freed, m.used
    if freed is None or freed.walked is None or m.steps_between:
        return False
    own = [n for k, n in m.walked.items() if k >= 0 and k not in freed.walked]
    instead = [n for n in freed.walked if n >= 0 and n not in m.walked]
    known = Counter(freed.heads[n][0] for n in instead if n in freed.heads)
    if not own or len(own) != len(instead) or not known <= Counter(n.op for n in own):
        return False
    if freed.value is not None and used.value is not None:
        return freed.value == used.value != 0
    fed = {p for n in own for p in n.parents or ()} - {n.number for n in own}
    return fed <= freed.walked and all(p >= 0 for p in fed) and _is_same_text(m, freed, own)


def _is_same_text(m: Meeting, freed: Pass, own: list[Node]) -> bool:
    """Rule 3."""
    source, first, second = source_of(m.trace, m.used.place), freed.place, m.used.place
    if source is None or first is None or second is None or freed.stack[1:] != m.used.stack[1:]:
        return False
    if (first.file, first.function) != (second.file, second.function):
        return False
    beside = [s for p in (first, second) if (one := source.statement(p.line)) is not None for s in source.beside(one)]
    roots = [root for s in beside if (root := root_of(s)) is not None]
    if len({expression(root) for root in roots}) != 1 or not all(second in n.stack for n in own):
        return False
    return _gives_the_same(source, roots[0]) and not _assigned_between(m, source, roots[0], first, second)


def _gives_the_same(source: Source, root: ast.expr) -> bool:
    """Whether each call of an expression is given something to compute with, and is no function that goes on where it was."""
    for call in (n for n in ast.walk(root) if isinstance(n, ast.Call)):
        function = call.func
        if isinstance(function, ast.Name) and hasattr(builtins, function.id) and function.id not in _PLAIN:
            return False
        if not call.args and not call.keywords:
            owner = function.value if isinstance(function, ast.Attribute) else None
            if owner is None or isinstance(owner, (ast.Name, ast.Attribute)):
                return False
        called = source.functions(ast.unparse(function).rpartition(".")[2])
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for f in called for n in ast.walk(f)):
            return False
    return True


def _assigned_between(m: Meeting, source: Source, root: ast.expr, first: Place, second: Place) -> bool:
    """Whether something that an expression reads was assigned between two runs of it: between its lines, or in a loop that has
    gone on."""
    assert m.freed is not None
    went_on = [x.line for x in m.freed.loops or () if count_of(m.used.loops or (), x) not in (None, x.count)]
    spans = [(s.lineno, s.end_lineno or s.lineno) for s in source.loops(second.line) if s.lineno in went_on]
    if len(spans) < len(went_on):
        return True  # a loop further out: nobody knows what it assigns
    spans.append((min(first.line, second.line), max(first.line, second.line)))
    reads = {ast.unparse(n) for n in ast.walk(root) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))}
    return any(a <= w.lineno <= b for name in reads for w in source.writes(name) for a, b in spans)
