# SPDX-License-Identifier: BSD-3-Clause
"""How blocks of statements end: with the program, or with a jump."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["cornered", "doomed", "jumps"]


def doomed(body: Sequence[ast.stmt]) -> bool:
    """Whether a block always ends the program."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Raise):
        return True
    if isinstance(last, ast.If):
        return doomed(last.body) and doomed(last.orelse)
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return ast.unparse(last.value.func) in ("sys.exit", "exit", "quit", "os._exit", "os.abort")
    return isinstance(last, ast.Assert) and isinstance(last.test, ast.Constant) and not last.test.value


def cornered(body: Sequence[ast.stmt], after: bool = False) -> Iterator[ast.If]:
    """The conditions without `else` behind which there is nothing but the end of the program: `if kind == "b": return B`,
    then `raise`. `after` says that this is so behind the whole block."""
    for position, node in enumerate(body):
        rest = body[position + 1 :]
        ends = after if not rest else doomed(rest) and not any(isinstance(s, _FORKS) for s in rest)
        if isinstance(node, ast.If):
            if ends and not node.orelse and node.body and isinstance(node.body[-1], ast.Return):
                yield node
            yield from cornered(node.body)
            yield from cornered(node.orelse, ends)
        else:
            for block in ("body", "orelse", "finalbody"):
                yield from cornered(getattr(node, block, ()))


_FORKS = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Return, ast.Match)


def jumps(body: Sequence[ast.stmt]) -> bool:
    """Whether a block leaves the loop or function it stands in without training anything."""
    if not body or not isinstance(body[-1], (ast.Continue, ast.Break, ast.Return)):
        return False
    names = {n.attr for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute)}
    return not names & {"backward", "step", "grad"}
