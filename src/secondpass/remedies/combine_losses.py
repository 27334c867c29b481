# SPDX-License-Identifier: BSD-3-Clause
"""combine-losses: one pass over the sum, in place of one pass per loss over a forward that they share."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Remedy
from .edit.source import Source, walk
from .find.flow import method_call, simple
from .find.project import Project, Scope
from .proposal import Way
from .rewrite.arguments import backward_calls

__all__ = ["propose"]

_WHY = "the gradient of a sum is the sum of the gradients; one walk frees the graph once"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Passes in one block, passes in a loop over losses, passes in functions of their own."""
    if finding.failed is None:
        return
    for source, scope in project.scopes(finding.failed, finding.freed):
        passes = _passes(source, scope)
        sites = project.sites(source, scope, finding.failed)
        here = [s for s in sites if any(s is p for p in passes)]
        for site in here[-1:]:
            yield from _in_block(source, passes, site)
            yield from _in_loop(source, scope, site)
    yield from _in_functions(finding, project)


def _passes(source: Source, scope: Scope) -> list[cst.SimpleStatementLine]:
    """Statements that are nothing but a pass with a root that we can name."""
    return [s for s in simple(source.body(scope)) if isinstance(s, cst.SimpleStatementLine) and _root(s) is not None]


def _root(statement: cst.BaseStatement) -> cst.BaseExpression | None:
    """The root of `x.backward()`, `torch.autograd.backward(x)`, `helper.backward(x)`; None with a given gradient."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    if not (isinstance(small, cst.Expr) and isinstance(small.value, cst.Call)):
        return None
    call = small.value
    if call not in backward_calls(statement) or not isinstance(call.func, cst.Attribute):
        return None
    bare = [a for a in call.args if a.keyword is None]
    if bare:
        return bare[0].value if len(bare) == 1 and not isinstance(bare[0].value, cst.List | cst.Tuple) else None
    if any(a.keyword and a.keyword.value not in {"retain_graph", "create_graph"} for a in call.args):
        return None
    return call.func.value


def _in_block(source: Source, passes: list[cst.SimpleStatementLine], site: cst.BaseStatement) -> Iterator[Way]:
    """`a.backward(); b.backward()` -> `(a + b).backward()`."""
    block = source.block(site)
    steps = [source.order(s) for s in block if method_call(s, "step") and source.order(s) < source.order(site)]
    since = max(steps, default=-1)  # losses are never added up over a step
    group = [p for p in passes if any(p is s for s in block) and since < source.order(p) <= source.order(site)]
    if len(group) < 2:
        return
    texts = [_term(source, _root(p)) for p in group]
    way = Way(title="Send the sum of the losses through one pass", safe=True, why=_WHY)
    call = _call_of(group[-1])
    total = " + ".join(texts)
    bare = [a for a in call.args if a.keyword is None]
    text = f"{source.code(call.func)}({total})" if bare else f"({total}).backward()"
    kept = [a for a in call.args if a.keyword is not None]
    if kept:
        inner = ", ".join(source.code(a).rstrip(", ") for a in kept)
        text = text[:-1] + (", " if bare else "") + inner + ")"
    for p in group[:-1]:
        way.patch.delete(source, p)
    way.patch.replace(source, call, text)
    yield way


def _call_of(statement: cst.SimpleStatementLine) -> cst.Call:
    small = statement.body[0]
    assert isinstance(small, cst.Expr)
    assert isinstance(small.value, cst.Call)
    return small.value


def _term(source: Source, node: cst.BaseExpression | None) -> str:
    assert node is not None
    text = source.code(node)
    loose = isinstance(node, cst.IfExp | cst.Lambda | cst.Comparison | cst.BooleanOperation | cst.NamedExpr)
    return f"({text})" if loose and not node.lpar else text


def _in_loop(source: Source, scope: Scope, site: cst.BaseStatement) -> Iterator[Way]:
    """`for loss in losses: loss.backward()` -> added up in the loop, sent through behind it."""
    loops = source.loops(site)
    root = _root(site)
    if not loops or root is None:
        return
    loop = loops[0]
    if any(method_call(s, "step", "zero_grad") for s in simple(source.body(loop))):
        return
    taken = {n.value for n in walk(scope) if isinstance(n, cst.Name)}
    name = next(n for n in ("combined", "combined_loss", "sum_of_losses") if n not in taken)
    way = Way(title="Add the losses up and send the sum through one pass", safe=True, why=_WHY)
    call = _call_of(site)  # type: ignore[arg-type]
    bare = [a for a in call.args if a.keyword is None]
    way.patch.insert_before(source, loop, [f"{name} = 0"])
    way.patch.replace(source, call, f"{name} = {name} + {_term(source, root)}")
    way.patch.insert_after(source, loop, [f"{source.code(call.func)}({name})" if bare else f"{name}.backward()"])
    yield way


def _in_functions(finding: Finding, project: Project) -> Iterator[Way]:
    """`self.backward_a(); self.backward_b()`: each gives its loss back, and the caller sends the sum through."""
    if finding.freed is None or finding.failed is None or finding.freed == finding.failed:
        return
    ends = []
    for place in (finding.freed, finding.failed):
        here = project.at(place)
        if not here or not isinstance(here[0].scope(here[1]), cst.FunctionDef):
            return
        source, statement = here
        function = source.scope(statement)
        if _root(statement) is None or source.body(function)[-1] is not statement:
            return
        ends.append((source, statement, function))
    if ends[0][2] is ends[1][2]:
        return
    for source, scope in project.scopes(finding.failed, finding.freed):
        one, two = project.sites(source, scope, finding.freed), project.sites(source, scope, finding.failed)
        if len(one) != 1 or len(two) != 1 or one[0] is two[0] or source.block(one[0]) != source.block(two[0]):
            continue
        calls_ = [s.body[0] for s in (one[0], two[0]) if isinstance(s, cst.SimpleStatementLine)]
        if not all(isinstance(c, cst.Expr) and isinstance(c.value, cst.Call) for c in calls_):
            continue
        if any(
            method_call(s, "step")
            for s in source.block(one[0])
            if source.order(one[0]) < source.order(s) < source.order(two[0])
        ):
            continue
        way = Way(title="Give the losses back and send their sum through one pass", safe=True, why=_WHY)
        for where, statement, _ in ends:
            way.patch.replace(where, statement.body[0], f"return {where.code(_root(statement))}")  # type: ignore[arg-type, attr-defined]
        name = "first_loss"
        way.patch.replace(source, calls_[0], f"{name} = {source.code(calls_[0])}")
        way.patch.replace(source, calls_[1], f"({name} + {source.code(calls_[1])}).backward()")
        yield way
        return
