# SPDX-License-Identifier: BSD-3-Clause
"""How a cut is written for what was seen: a tensor, a tuple, a dict; `secondpass.detach` for what is nested."""

from __future__ import annotations

import libcst as cst

from ...record import Path
from ..edit.patch import Patch
from ..edit.source import Source, Span
from ..find.flow import simple
from ..find.held import Held

__all__ = ["cut_of", "import_module"]

_FLAT = {
    "tuple": "{n} = tuple(part.detach() for part in {n})",
    "list": "{n} = [part.detach() for part in {n}]",
    "dict": "{n} = {{key: value.detach() for key, value in {n}.items()}}",
}
_IN_TURN = {"list": "", "tuple": "", "deque": "", "set": "", "dict": ".values()"}


def cut_of(target: str, held: list[Held], form: str) -> list[str]:
    """The lines that take the history off what a path leads to.

    :param held: the paths that were seen behind it
    :param form: `plain` in the words of the type that was seen, where they suffice; `nested` for whatever is in it
    """
    one = held[0]
    ways = one.target.ways
    walked = next((i for i, w in enumerate(ways) if w.kind == "item" and one.path.type_at(i) in _IN_TURN), None)
    if walked is not None:
        # Objects in a container: each of them, also those that were not looked at.
        container = str(type(one.path)(one.path.root, one.path.scope, ways[:walked], one.path.type))
        rest = str(type(one.path)("part", "local", ways[walked + 1 :]))
        lines = cut_of(rest, [Held(_below(one, walked + 1), one.function)], form)
        return [f"for part in {container}{_IN_TURN[one.path.type_at(walked)]}:", *(f"    {line}" for line in lines)]
    if form == "plain":
        if not one.inner:
            return [f"{target} = {target}.detach()"]
        if all(len(h.inner) == 1 for h in held) and one.type in _FLAT:
            return [_FLAT[one.type].format(n=target)]
    return [f"{target} = secondpass.detach({target})"]


def _below(held: Held, depth: int) -> Path:
    """The path from one of its steps on."""
    path = held.path
    return type(path)("part", "local", path.ways[depth:], path.type_at(depth))


def import_module(patch: Patch, source: Source, name: str) -> None:
    """`import name`, behind the imports of a file that does not have it."""
    if patch.inserts(source, f"import {name}"):
        return
    top = source.body(source.module)
    for statement in simple(top):
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Import) and any(a.evaluated_name == name and not a.asname for a in small.names):
                return
    own = [s for s in top if isinstance(s, cst.SimpleStatementLine)]
    imports = [s for s in own if isinstance(s.body[0], cst.Import | cst.ImportFrom)]
    if imports:
        patch.insert_after(source, imports[-1], [f"import {name}"])
    else:
        patch.replace(source, Span(0, 0), f"import {name}{source.newline}")
