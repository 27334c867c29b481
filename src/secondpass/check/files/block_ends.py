# SPDX-License-Identifier: BSD-3-Clause
"""How blocks of statements end: with the program, or with a jump."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["cornered", "doomed", "jumps", "last_choices"]


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


def last_choices(tree: ast.Module) -> Iterator[ast.If]:
    """The last of several conditions that ask what one value is equal to, if nothing is chosen where none of them holds: a
    function that gives something otherwise comes to its end, or what each of them binds, and nothing else does, is
    not bound. `if kind == "a": net = A()`, `elif kind == "b": net = B()`."""
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    for function in functions:
        chain = _chain(function.body)
        if len(chain) > 1 and all(isinstance(c.body[-1], ast.Return) for c in chain) and _gives(function):
            yield chain[-1]
    for scope in (*functions, tree):
        for node in ast.walk(scope):
            if isinstance(node, ast.If) and len(chain := _chain([node])) > 1:
                bound = set.intersection(*(_bound(c.body) for c in chain))
                if any(_stores(node, name) == _stores(tree if "." in name else scope, name) for name in bound):
                    yield chain[-1]


def _chain(body: Sequence[ast.stmt]) -> list[ast.If]:
    """The conditions on one value that a block ends with, one after the other or each in the `else` of the one before."""
    found: list[ast.If] = []
    for node in reversed(body):
        links = _links(node)
        if not links or not _subject(links[0]) or len({_subject(link) for link in [*links, *found]}) > 1:
            break
        found[:0] = links
    return found


def _links(node: ast.stmt) -> list[ast.If]:
    """The conditions of `if` and `elif`, where there is no `else`."""
    found: list[ast.If] = []
    here: list[ast.stmt] = [node]
    while len(here) == 1 and isinstance(here[0], ast.If):
        found.append(here[0])
        here = here[0].orelse
    return found if not here else []


def _subject(node: ast.If) -> str:
    """The value that a condition compares with a constant, as it is written."""
    test = node.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Eq, ast.In, ast.Is)) and len(test.ops) == 1:
        if not isinstance(test.left, ast.Constant):
            return ast.unparse(test.left)
    return ""


def _bound(body: Sequence[ast.stmt]) -> set[str]:
    """The names and attributes that a block binds."""
    targets = [t for s in body if isinstance(s, ast.Assign) for t in s.targets]
    return {ast.unparse(t) for t in targets if isinstance(t, (ast.Name, ast.Attribute))}


def _stores(scope: ast.AST, name: str) -> int:
    """How often a name or attribute is bound."""
    kind = ast.Attribute if "." in name else ast.Name
    nodes = [n for n in ast.walk(scope) if isinstance(n, kind) and isinstance(n.ctx, ast.Store)]
    return sum(ast.unparse(n) == name for n in nodes)


def _gives(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function gives a value wherever it returns before its end."""
    returns = [n for n in ast.walk(node) if isinstance(n, ast.Return)]
    return all(r.value is not None and getattr(r.value, "value", r) is not None for r in returns)


_FORKS = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Return, ast.Match)


def jumps(body: Sequence[ast.stmt]) -> bool:
    """Whether a block leaves the loop or function it stands in without training anything."""
    if not body or not isinstance(body[-1], (ast.Continue, ast.Break, ast.Return)):
        return False
    names = {n.attr for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute)}
    return not names & {"backward", "step", "grad"}
