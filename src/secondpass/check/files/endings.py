# SPDX-License-Identifier: BSD-3-Clause
"""How blocks of statements end: with the program, or with a jump."""

from __future__ import annotations

import ast
from collections.abc import Sequence

__all__ = ["doomed", "jumps"]


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


def jumps(body: Sequence[ast.stmt]) -> bool:
    """Whether a block leaves the loop or function it stands in without training anything."""
    if not body or not isinstance(body[-1], (ast.Continue, ast.Break, ast.Return)):
        return False
    names = {n.attr for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute)}
    return not names & {"backward", "step", "grad"}
