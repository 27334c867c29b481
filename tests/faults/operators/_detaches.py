# SPDX-License-Identifier: BSD-3-Clause
"""Where programs end a history on purpose: the sites of all operators that take a cut away."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..host import Function, Host
from ..program import Edit, tagged
from . import Change

STORES = {
    "append",
    "add",
    "push",
    "put",
    "extend",
    "appendleft",
    "enqueue",
    "insert",
    "store",
    "remember",
    "save",
    "setdefault",
}


def sites(host: Host, stored: bool) -> Iterator[tuple[str, ast.stmt, list[Edit], tuple[str, ...]]]:
    """Every cut of a tensor with history: where, in which statement, the edits that take it away, the names it goes to.

    `stored`: those that stand in what is put into a container, or all others.
    """
    for call in host.method_calls("detach", "detach_"):
        assert isinstance(call.func, ast.Attribute)
        value = call.func.value
        statement = host.statement(call)
        if not host.fact(value).history or call.args or in_store(host, call) != stored:
            continue
        site = f"{host.file(call)}:{call.lineno}:{call.col_offset}"
        names = bound(statement)
        if names and same(statement, call) and host.alone(statement):
            # `h = h.detach()` goes as a whole; what carries the fault is every later value of that name.
            yield site, statement, [host.delete(statement), *loads(host, statement, names)], names
        elif isinstance(statement, ast.Expr) and statement.value is call and host.alone(statement):
            # `h.detach_()` on a line of its own
            name = ast.unparse(value)
            yield site, statement, [host.delete(statement), *loads(host, statement, (name,))], (name,)
        else:
            yield site, statement, [host.replace(call, tagged(host.text(value)))], names
    for block in host.nodes(ast.With):
        if not is_no_grad(host, block) or len(block.items) != 1 or in_store(host, block) != stored:
            continue
        names = tuple(n for s in block.body for n in bound(s))
        if names and all(host.alone(s) for s in block.body) and stored is False:
            yield f"{host.file(block)}:{block.lineno}", block, [opened(host, block), *loads(host, block, names)], names


def is_no_grad(host: Host, block: ast.With) -> bool:
    return any("no_grad" in host.text(i.context_expr) for i in block.items)


def opened(host: Host, block: ast.With, head: str = "") -> Edit:
    """A `with` block taken away, its statements left."""
    start, end = host.rows(block)
    rows = host.program.files[host.file(block)][host.rows(block.body[0])[0] : end].split("\n")
    inner, outer = host.indent(block.body[0]), host.indent(block)
    text = "\n".join(outer + r[len(inner) :] if r.startswith(inner) else r for r in rows)
    return Edit(host.file(block), start, end, head + text)


def same(statement: ast.stmt, call: ast.Call) -> bool:
    """`x = x.detach()`."""
    return (
        isinstance(statement, ast.Assign)
        and len(statement.targets) == 1
        and statement.value is call
        and isinstance(call.func, ast.Attribute)
        and ast.unparse(statement.targets[0]) == ast.unparse(call.func.value)
    )


def bound(statement: ast.stmt) -> tuple[str, ...]:
    """What a statement assigns, as the source writes it."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    flat = [e for t in targets for e in (t.elts if isinstance(t, (ast.Tuple, ast.List)) else [t])]
    return tuple(ast.unparse(t) for t in flat if isinstance(t, (ast.Name, ast.Attribute, ast.Subscript)))


def loads(host: Host, near: ast.AST, names: tuple[str, ...]) -> list[Edit]:
    """Tags on every later reading of some names in the function (or class) around a statement."""
    scope = next((a for a in host.around(near) if isinstance(a, (*Function, ast.Module))), None)
    dotted = any("." in n for n in names)
    if dotted:
        scope = next((a for a in host.around(near) if isinstance(a, (ast.ClassDef, ast.Module))), scope)
    inside = {id(n) for n in ast.walk(near)}
    edits = []
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, (ast.Name, ast.Attribute)) or id(node) in inside or not isinstance(node.ctx, ast.Load):
            continue
        parent = host.parent(node)
        if isinstance(parent, ast.FormattedValue) or isinstance(host.parent(parent or node), ast.JoinedStr):
            continue
        if ast.unparse(node) in names and host.fact(node).count:
            edits.append(host.replace(node, tagged(host.text(node))))
    return edits


def in_store(host: Host, node: ast.AST) -> bool:
    """Whether a value is put into a container where it stands."""
    inner = node
    for around in host.around(node):
        if isinstance(around, ast.Call) and isinstance(around.func, ast.Attribute) and inner is not around.func:
            if around.func.attr in STORES:
                return True
        if isinstance(around, ast.Assign) and any(isinstance(t, ast.Subscript) for t in around.targets):
            return True
        if isinstance(around, ast.stmt):
            return False
        inner = around
    return False


def still_cut(host: Host, stored: bool) -> Iterator[Change]:
    """Twins: the history ends all the same."""
    for call in host.method_calls("detach"):
        assert isinstance(call.func, ast.Attribute)
        value = call.func.value
        statement = host.statement(call)
        if not host.fact(value).history or in_store(host, call) != stored:
            continue
        text, where = host.text(value), f"{host.file(call)}:{call.lineno}:{call.col_offset}"
        yield Change(f"{where}-data", (host.replace(call, f"{text}.data"),))
        yield Change(f"{where}-copy", (host.replace(call, f"{text}.detach().clone()"),))
        if isinstance(statement, (ast.Assign, ast.Expr)) and host.alone(statement) and not in_comprehension(host, call):
            name = "frozen_copy"
            yield Change(
                f"{where}-before", (host.before(statement, f"{name} = {text}.detach()"), host.replace(call, name))
            )


def in_comprehension(host: Host, node: ast.AST) -> bool:
    kinds = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp, ast.Lambda, ast.IfExp)
    return any(isinstance(a, kinds) for a in host.around(node))
