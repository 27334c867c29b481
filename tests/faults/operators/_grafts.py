# SPDX-License-Identifier: BSD-3-Clause
"""Places where something can be added to a training loop: an output, the loss made from it, and the pass over that loss.

These operators do not take something away that the host does right. They add what people add (an average, a consistency term,
a replay, a penalty, a probe), wrongly; the repaired addition is the reference.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from ..host import Host
from ._blocks import fresh, training_loop, with_history
from ._detaches import bound


@dataclass(frozen=True)
class Graft:
    """A pass over a plain name in a loop, and a value with history that is made before it in the same block."""

    call: ast.Call
    statement: ast.stmt
    loop: ast.stmt
    loss: str
    value: str
    """Not a number: what a network gave."""
    indent: str

    def pick(self, *ways: str) -> str:
        """One of several ways to say a thing: another host may say it otherwise."""
        seed = f"{self.loss}{self.value}{self.statement.lineno}".encode()
        return ways[hashlib.sha256(seed).digest()[0] % len(ways)]


def grafts(host: Host) -> Iterator[Graft]:
    for call in host.backwards():
        statement = host.own_statement(call)
        loop = training_loop(host, call)
        assert isinstance(call.func, ast.Attribute)
        root = call.func.value
        if statement is None or loop is None or call.args or call.keywords:
            continue
        if not isinstance(root, ast.Name) or not host.fact(root).scalar or statement not in loop.body:  # type: ignore[attr-defined]
            continue
        block = host.block(statement)
        for earlier in block[: block.index(statement)]:
            names = bound(earlier)
            if (
                isinstance(earlier, ast.Assign)
                and len(names) == 1
                and names[0].isidentifier()
                and with_history(host, earlier)
            ):
                fact = host.fact(earlier.value)
                if fact.history and not fact.scalar and names[0] != root.id and fact.kinds == ("history",):
                    yield Graft(call, statement, loop, root.id, names[0], host.indent(statement))
                    break


def name(host: Host, graft: Graft, *names: str) -> str:
    return fresh(host, graft.pick(*names), *names)
