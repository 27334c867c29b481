# SPDX-License-Identifier: BSD-3-Clause
"""Whether the source moves parameters in a part of the program: what has not happened yet is not in the trace."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ...record import Loop, Owner, Pass, Place, Trace
from ...source import Source
from .lines import source_of, sources_of

__all__ = ["moves_between", "next_to_step", "steps_in_loop"]

_DEPTH = 2
_QUIET = {"zero_grad", "state_dict", "add_param_group", "items", "keys", "values"}
"""What an optimizer can be asked without its parameters moving."""


def steps_in_loop(trace: Trace, loop: Loop) -> bool:
    """Whether a loop makes optimizer steps in any of its iterations, itself or in what it calls."""
    source = source_of(trace, Place(loop.file, loop.line))
    stmt = source.statement(loop.line) if source is not None else None
    if not isinstance(stmt, (ast.For, ast.AsyncFor, ast.While)):
        return False
    return _steps(trace, stmt.body, _DEPTH)


def _steps(trace: Trace, body: Iterable[ast.AST], depth: int) -> bool:
    called: set[str] = set()
    for call in (n for part in body for n in ast.walk(part) if isinstance(n, ast.Call)):
        owner, _, name = ast.unparse(call.func).rpartition(".")
        # An environment steps too, but it is told an action; a scaler is told the optimizer.
        if name == "step" and owner and (not call.args or _is_optimizer(trace, (owner, ast.unparse(call.args[0])))):
            return True
        called.add(name)
    if depth == 0 or not called:
        return False
    return any(_steps(trace, f.body, depth - 1) for f in _functions(trace, called))


def _functions(trace: Trace, names: Iterable[str]) -> Iterable[ast.FunctionDef]:
    for _, source in sources_of(trace):
        yield from (f for name in names for f in source.functions(name) if isinstance(f, ast.FunctionDef))


def _is_optimizer(trace: Trace, written: Iterable[str]) -> bool:
    known = {o.name.rpartition(".")[2] for o in trace.owners}
    return any(w.rpartition(".")[2] in known for w in written)


def moves_between(trace: Trace, first: Pass, second: Pass) -> bool:
    """Whether something is asked of an optimizer between two passes that one block makes, other than to clear."""
    for a in first.stack:
        for b in second.stack:
            source = source_of(trace, a)
            if source is None or (a.file, a.function) != (b.file, b.function) or a.line >= b.line:
                continue
            return any(_asks(trace, source, line) for line in range(a.line + 1, b.line))
    return False


def next_to_step(trace: Trace, one: Pass) -> list[Owner]:
    """The optimizers that may be meant by the first step after a pass, in the functions around it."""
    for place in one.stack:
        source = source_of(trace, place)
        if source is None:
            continue
        here = source.function(place.line)
        for line in (n for n in source.lines_with(("step",)) if n > place.line and source.function(n) is here):
            for call in source.calls(line):
                owner, _, name = ast.unparse(call.func).rpartition(".")
                if name == "step" and (found := [o for o in trace.owners if _last(o.name) == _last(owner)]):
                    return found
    return []


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _asks(trace: Trace, source: Source, line: int) -> bool:
    for call in source.calls(line):
        owner, _, name = ast.unparse(call.func).rpartition(".")
        if owner and name not in _QUIET and _is_optimizer(trace, (owner,)):
            return True
    return False
