# SPDX-License-Identifier: BSD-3-Clause
"""keep-history: remove the cut that should not be there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Place, Remedy
from .edit.patch import Patch
from .edit.source import Source, Span, walk
from .find.flow import assigned_value, calls, dotted, history_slice, names_read, simple, written
from .find.project import Project, Scope, pairs_of
from .proposal import Way
from .rewrite.arguments import pass_calls
from .rewrite.not_reentrant import not_reentrant
from .rewrite.numpy import calls_numpy, translated
from .rewrite.uncut import uncut

__all__ = ["propose"]

_WHY = "the loss then has a history that reaches the parameters"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """The cut at the known place, then those of the functions on the way to the loss."""
    if finding.cause == "unreached-parameter" and finding.facts.get("forgotten"):
        return  # no loss uses the branch: which one was to use it, and how, nobody can know; what else is cut may be meant
    if finding.cause == "unreached-parameter" and _may_be_frozen(finding, project):
        return
    if finding.facts.get("cut") == "checkpoint":
        yield from not_reentrant(project, finding.built)
        return
    places = [p for p in (remedy.place, finding.built, finding.used, finding.failed) if p]
    if finding.facts.get("cut") == "frozen":
        yield from _aliased(project)
    known = [here for place in places[:2] if (here := project.at(place))]
    for source, statement in known:
        function = source.scope(statement)
        leaves = finding.facts.get("cut") == "numpy" or ".numpy()" in source.code(statement)
        if leaves and isinstance(function, cst.FunctionDef) and calls_numpy(source, function):
            # The values are computed by NumPy: a cut less would not bring the history back.
            yield from _in_torch(source, function)
            return
    for source, statement in known:
        # What such a function computes was to have no history: switched on in it, a target would get one.
        yield from _switched_off(source, source.scope(statement))
        yield from _at(source, statement, singly=finding.cause == "unreached-parameter")
    if not finding.sure or finding.cause == "unreached-parameter":
        return  # where the history was lost is not known: any other cut in the program may be meant
    for source in project.sources:
        for function in source.functions:
            yield from _switched_off(source, function)
    chain = _towards_losses(project)
    functions = _entered(project, chain)
    for source, function in functions:
        yield from _in_torch(source, function)
    for source, statement in chain:
        yield from _at(source, statement)
    for source, function in functions:
        for statement in simple(source.body(function)):
            yield from _at(source, statement)


def _may_be_frozen(finding: Finding, project: Project) -> bool:
    """Whether a part of a network may be left as it is on purpose: the cut is a `detach` or a `no_grad`, and the optimizer was
    given the whole network, `Adam(model.parameters())`. Nothing in the program then tells an encoder that was cut off by accident
    from one whose features are only read. Whoever names the part, or picks parameters, means them to be trained, be it by a name
    that stands for them."""
    made = finding.facts.get("made")
    if "made" not in finding.facts or finding.facts.get("cut") not in {"detach", "no_grad"}:
        return False
    here = project.at(Place(**made)) if made else _maker(str(finding.facts.get("optimizer") or ""), project)
    name = finding.carrier.name if finding.carrier else ""
    if not here:
        return True
    source, maker = here
    chain = history_slice(source, maker, names_read(maker), None, source.body(source.scope(maker)))
    statements, parts = [*chain, maker], name.split(".")
    asked = [dotted(call.func) or "" for s in statements for call in calls(s)]
    given = {n.removesuffix(".parameters").rpartition(".")[2] for n in asked if n.endswith(".parameters")}
    named = any(n in parts and not parts[0] == n != name for n in given)
    return bool(given) and not named and name not in _picked(source, statements)


def _maker(optimizer: str, project: Project) -> tuple[Source, cst.BaseStatement] | None:
    """The one statement that makes an optimizer of this name."""
    if optimizer not in project.optimizers:
        return None
    found = [
        (source, s)
        for source in project.sources
        for s in simple(source.module, nested=True)
        for small in (s.body if isinstance(s, cst.SimpleStatementLine) else ())
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None
        if any(name == optimizer for name, _ in pairs_of(small, small.value))
    ]
    return found[0] if len(found) == 1 else None


def _picked(source: Source, statements: list[cst.BaseStatement]) -> set[str]:
    """The networks of which an optimizer gets those parameters that require a gradient, be it by a name that stands for them:
    what is to stay as it is was told so by `requires_grad_(False)`."""
    found = set()
    for node in [n for s in statements for n in walk(s)]:
        if isinstance(node, cst.CompFor) and node.ifs and "requires_grad" in source.code(node.ifs[0].test):
            asked: cst.BaseExpression = node.iter
        elif isinstance(node, cst.Call) and dotted(node.func) == "filter" and "requires_grad" in source.code(node):
            asked = node.args[-1].value
        else:
            continue
        name = dotted(asked.func) if isinstance(asked, cst.Call) else None
        found |= {name.rpartition(".")[0]} if name and name.endswith("parameters") else set()
    return found


def _in_torch(source: Source, function: cst.FunctionDef) -> Iterator[Way]:
    for patch in translated(source, function):
        yield Way(patch, f"Compute `{function.name.value}` with torch", safe=False, why=_WHY)


def _switched_off(source: Source, function: Scope | None) -> Iterator[Way]:
    """A function that switches recording off and leaves it so: off only while the function runs."""
    if not isinstance(function, cst.FunctionDef):
        return
    body = list(simple(source.body(function)))
    switches = [(s, c) for s in body if isinstance(s, cst.SimpleStatementLine) for c in _bare_calls(s)]
    if len(switches) == 1 and _stops(switches[0][1]) and not any(pass_calls(s) for s in body):
        switch, call = switches[0]
        where, dot, _ = (dotted(call.func) or "").rpartition(".")
        way = Way(title=f"Switch recording off in `{function.name.value}` only", safe=True, why=_WHY)
        way.patch.insert_before(source, function, [f"@{where}{dot}no_grad()"])
        way.patch.delete(source, switch)
        yield way


def _aliased(project: Project) -> Iterator[Way]:
    """`teacher = student`, and then the teacher is frozen: a copy was meant."""
    for source in project.sources:
        statements = [s for s in simple(source.module, nested=True) if isinstance(s, cst.SimpleStatementLine)]
        frozen = {n for s in simple(source.module, nested=True) for n in _frozen(source, s)}
        for statement in statements:
            value = assigned_value(statement)
            names = written(statement) & frozen
            if value is not None and dotted(value) and "[" not in (dotted(value) or "") and names:
                way = Way(title=f"Freeze a copy of `{dotted(value)}`", safe=True, why=_WHY)
                way.patch.replace(source, value, f"copy.deepcopy({source.code(value)})")
                imports = [s for s in statements if isinstance(s.body[0], cst.Import | cst.ImportFrom)]
                if imports and not any("import copy" in source.code(s) for s in imports):
                    way.patch.insert_before(source, imports[0], ["import copy", ""])
                yield way


def _frozen(source: Source, statement: cst.BaseStatement) -> Iterator[str]:
    """The networks that a statement freezes: `for p in x.parameters(): ...`, `x.requires_grad_(False)`."""
    if isinstance(statement, cst.For) and "requires_grad" in source.code(statement):
        called = statement.iter.func if isinstance(statement.iter, cst.Call) else None
    else:
        small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
        call = small.value if isinstance(small, cst.Expr) else None
        called = call.func if isinstance(call, cst.Call) and "requires_grad_(False)" in source.code(call) else None
    name = dotted(called.value) if isinstance(called, cst.Attribute) else None
    if name:
        yield name


def _bare_calls(statement: cst.SimpleStatementLine) -> list[cst.Call]:
    """Calls of `set_grad_enabled` that stand by themselves, in no `with`."""
    values = [s.value for s in statement.body if isinstance(s, cst.Expr)]
    return [v for v in values if isinstance(v, cst.Call) and (dotted(v.func) or "").endswith("set_grad_enabled")]


def _towards_losses(project: Project) -> list[tuple[Source, cst.BaseStatement]]:
    """The statements that roots of passes are computed from, nearest to the pass first."""
    found: list[tuple[Source, cst.BaseStatement]] = []
    for source in project.sources:
        scopes: list[Scope] = [*source.functions, source.module]
        for scope in scopes:
            body = source.body(scope)
            for statement in [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine) and pass_calls(s)]:
                chain = [*history_slice(source, statement, names_read(statement), None, body), statement]
                found += [(source, s) for s in reversed(chain) if not any(s is t for _, t in found)]
    return found


def _entered(project: Project, chain: list[tuple[Source, cst.BaseStatement]]) -> list[tuple[Source, cst.FunctionDef]]:
    """The user's functions that those statements call, and what these call in turn."""
    found: list[tuple[Source, cst.FunctionDef]] = []
    todo: list[cst.CSTNode] = [s for _, s in chain]
    while todo:
        for call in calls(todo.pop(0)):
            for where, function in project.callees(call):
                if not any(function is f for _, f in found):
                    found.append((where, function))
                    todo.append(function)
    return found


def _at(source: Source, statement: cst.BaseStatement, *, singly: bool = False) -> Iterator[Way]:
    """What cuts at one statement: calls in it, a `no_grad` around it."""
    for patch, what in uncut(source, statement, singly=singly):
        yield Way(patch, f"Keep the history: without {what}", safe=False, why=_WHY)
    for outer in [statement, *source.up(statement)]:
        if isinstance(outer, cst.With) and len(outer.items) == 1 and _stops(outer.items[0].item):
            here = source.within(statement, source.body(outer))
            if here is not None and _stands_alone(source, here, outer):
                # What comes before it in the block may be without history on purpose: a teacher.
                patch = Patch()
                _dedent(patch, source, outer, here)
                title = f"Keep the history from line {source.line_of(here)} on: `no_grad` ends above it"
                yield Way(patch, title, why=_WHY)
            patch = Patch()
            _dedent(patch, source, outer)
            yield Way(patch, "Keep the history: without `no_grad`", safe=False, why=_WHY)
        if isinstance(outer, cst.FunctionDef):
            for decorator in outer.decorators:
                if _stops(decorator.decorator):
                    patch = Patch()
                    patch.replace(source, _line(source, decorator), "")
                    yield Way(patch, "Keep the history: without `no_grad`", safe=False, why=_WHY)
            break


def _stands_alone(source: Source, statement: cst.BaseStatement, block: cst.With) -> bool:
    """Whether a block has statements before this one, and nothing that they make is used from it on."""
    body = source.body(block)
    at = next(i for i, s in enumerate(body) if s is statement)
    made = {n for s in body[:at] for n in written(s)}
    return at > 0 and not any(made & names_read(s) for s in body[at:])


def _line(source: Source, node: cst.CSTNode) -> Span:
    return Span(source.offset(source.line_of(node)), source.offset(source.last_line(node) + 1))


def _stops(node: cst.BaseExpression) -> bool:
    name = dotted(getattr(node, "func", node)) or ""
    if name.endswith("set_grad_enabled"):
        return isinstance(node, cst.Call) and bool(node.args) and dotted(node.args[0].value) == "False"
    return name.endswith(("no_grad", "inference_mode"))


def _dedent(patch: Patch, source: Source, block: cst.With, since: cst.BaseStatement | None = None) -> None:
    """The body of a `with` without its head, one level to the left; or what stands in it from a statement on."""
    body = source.body(block)
    if not body:
        return
    indent, inner = source.indent(block), source.indent(body[0])
    span = source.lines_span(block)
    start = source.offset(source.last_line(block.items[-1]) + 1)
    if since is not None:
        start = source.lines_span(since, comments=True).start
        span = Span(start, span.end)
    rigid = {
        line
        for n in walk(block)
        if isinstance(n, cst.SimpleString | cst.FormattedString)
        for line in range(source.line_of(n) + 1, source.last_line(n) + 1)
    }
    first = source.line_at(start)
    lines = []
    for number in range(first, source.line_at(span.end - 1) + 1):
        text = source.text[source.offset(number) : source.offset(number + 1)]
        lines.append(indent + text.removeprefix(inner) if text.startswith(inner) and number not in rigid else text)
    patch.replace(source, span, "".join(lines))
