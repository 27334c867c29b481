# SPDX-License-Identifier: BSD-3-Clause
"""Questions about statements that several operators ask."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..host import Function, Host, Loop, names_read, names_written
from ._detaches import bound


def training_loop(host: Host, node: ast.AST) -> ast.stmt | None:
    """The innermost loop around a node, within its function, that turned more than twice."""
    loop = host.above(node, *Loop)
    return loop if loop is not None and turns(host, loop) > 2 else None


def turns(host: Host, loop: ast.stmt) -> int:
    where = f"{host.file(loop)}:{loop.lineno}"
    return sum(1 for e in host.events if e["what"] == "turn" and e["where"] == where)


def sites_in_loops(host: Host) -> Iterator[tuple[ast.Assign, ast.stmt]]:
    """Assignments of one expression with history, in the body of a loop that turned several times."""
    for statement in host.nodes(ast.Assign):
        loop = host.parent(statement)
        if isinstance(loop, Loop) and host.alone(statement) and with_history(host, statement) and turns(host, loop) > 2:
            yield statement, loop


def with_history(host: Host, statement: ast.Assign) -> bool:
    fact = host.fact(statement.value) if not isinstance(statement.value, (ast.Tuple, ast.List)) else None
    return fact is not None and (fact.history or "holds" in fact.kinds)


def constant_in(host: Host, statement: ast.Assign, scope: ast.AST) -> bool:
    """Whether an assignment reads nothing that its scope changes, so that it could be made once, before."""
    own = set(bound(statement))
    if not own or any("[" in n for n in own):
        return False
    written: set[str] = set()
    for node in ast.walk(scope):
        if node is not statement and isinstance(node, (ast.stmt, ast.comprehension)):
            if isinstance(node, (*Loop, ast.If, ast.With, ast.Try, *Function)):
                targets = [node.target] if isinstance(node, ast.For) else []
                written |= {n for t in targets for n in names_written(t)}
                if isinstance(node, ast.With):
                    written |= {n for i in node.items if i.optional_vars for n in names_written(i.optional_vars)}
            elif isinstance(node, ast.stmt):
                written |= names_written(node)
    read = names_read(statement.value)
    return not (read & (written | own)) and not own & written and not host.draws(statement)


def sums(host: Host) -> Iterator[tuple[ast.Call, ast.stmt, list[ast.expr]]]:
    """Passes over a sum of terms with history, with the terms: `(a + b).backward()`, or `loss = a + b` before it."""
    for call in host.backwards():
        statement = host.own_statement(call)
        if statement is None or call.args or call.keywords:
            continue
        assert isinstance(call.func, ast.Attribute)
        root = call.func.value
        source: ast.expr | None = root
        if isinstance(root, ast.Name):
            source = None
            for earlier in host.block(statement)[: host.block(statement).index(statement)]:
                if root.id in names_written(earlier):
                    plain = isinstance(earlier, ast.Assign) and bound(earlier) == (root.id,)
                    source = earlier.value if plain else None  # type: ignore[attr-defined]
        terms = terms_of(source) if source is not None else []
        if len(terms) > 1 and all(host.fact(t).history and host.fact(t).scalar for t in terms):
            yield call, statement, terms


def terms_of(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*terms_of(node.left), *terms_of(node.right)]
    return [node]


def again(host: Host, statement: ast.stmt, term: ast.expr, suffix: str) -> list[str] | None:
    """The forward of a term once more in front of a statement, and the term itself last: all that has history in its block, under
    names with a suffix. None where that is more than a few plain assignments."""
    block = host.block(statement)
    needed = {n.id for n in ast.walk(term) if isinstance(n, ast.Name)}
    chosen: list[ast.Assign] = []
    for earlier in reversed(block[: block.index(statement)]):
        if not names_written(earlier) & needed:
            continue
        plain = isinstance(earlier, ast.Assign) and not isinstance(earlier.value, (ast.Tuple, ast.List))
        if not plain or any("." in n for n in names_written(earlier)):
            return None
        if with_history(host, earlier):  # type: ignore[arg-type]
            chosen.insert(0, earlier)  # type: ignore[arg-type]
            needed |= {n.id for n in ast.walk(earlier) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    names: dict[str, str] = {}
    written = {n for s in chosen for n in names_written(s)}
    rows = []
    for one in [*chosen, ast.Expr(term)]:
        made = ast.parse(ast.unparse(one)).body[0]
        for node in ast.walk(made):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                if node.id in written and node.id not in names:
                    return None  # its old value is gone
                node.id = names.get(node.id, node.id)
        names |= {n: n + suffix for n in names_written(one)}
        for node in ast.walk(made):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                node.id = names[node.id]
        rows.append(ast.unparse(made))
    return rows if chosen else None


def next_step(host: Host, statement: ast.stmt) -> ast.Expr | None:
    """The `optimizer.step()` statement that follows a statement in its block."""
    block = host.block(statement)
    steps = {id(host.parent(c)) for c in host.steps()}
    for later in block[block.index(statement) + 1 :]:
        if id(later) in steps and isinstance(later, ast.Expr):
            return later
    return None


def last_clear(host: Host, statement: ast.stmt) -> ast.Expr | None:
    """The clearing that stands before a statement in its block, nearest first."""
    block = host.block(statement)
    clears = {id(host.parent(c)) for c in host.clears()}
    for earlier in reversed(block[: block.index(statement)]):
        if id(earlier) in clears and isinstance(earlier, ast.Expr):
            return earlier
    return None


def where(host: Host, node: ast.AST, note: str = "") -> str:
    return f"{host.file(node)}:{node.lineno}:{node.col_offset}{note}"  # type: ignore[attr-defined]


def fresh(host: Host, *names: str) -> str:
    """The first of some names that a program does not use."""
    taken = {n.id for n in host.nodes(ast.Name)} | {n.attr for n in host.nodes(ast.Attribute)}
    return next((n for n in names if n not in taken), f"{names[0]}_2")


def top(host: Host, file: str) -> ast.stmt:
    """The statement of a file in front of which an import can stand."""
    body = host.trees[file].body
    for statement in body:
        docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not docstring and not future:
            return statement
    return body[-1]


def looked_at(host: Host, statement: ast.stmt, root: str) -> str | None:
    """A statement that asks the graph for gradients which are only looked at, and keeps it for the pass that follows."""
    step = next_step(host, statement)
    if step is None:
        return None
    optimizer = host.text(step).rpartition(".step(")[0]
    asked = f'torch.autograd.grad({root}, {optimizer}.param_groups[0]["params"], retain_graph=True, allow_unused=True)'
    return f"steepness = sum(float(g.norm()) for g in {asked} if g is not None)"


def the_loss_itself(host: Host, names: Iterable[str]) -> tuple[str, ...]:
    """A loss that is computed once and sent through in every turn is a repeated pass as well: both names are right."""
    roots = {host.text(c.func.value) for c in host.backwards()}  # type: ignore[attr-defined]
    return ("repeated-backward",) if roots & set(names) else ()
