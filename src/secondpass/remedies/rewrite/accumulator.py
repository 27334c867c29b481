# SPDX-License-Identifier: BSD-3-Clause
"""Accumulators of losses that are themselves sent through a pass: what was meant instead."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ...record import Finding
from ..edit.patch import Patch, attached
from ..edit.source import Source, walk
from ..find.flow import assigned_value, base_of, dotted, names_read, plain, reads, simple, written
from ..find.held import cuts, held_paths
from ..find.project import Project, Scope
from .arguments import pass_calls

__all__ = ["averaged", "own_loss", "per_forward", "remade", "restarted"]


def averaged(finding: Finding) -> bool:
    """Whether what goes through the pass is an average over iterations: the newest loss has a smaller weight in it from one
    iteration to the next, which nobody wants to train with."""
    facts = (finding.facts.get("why") or {}).get("facts") or {}
    return facts.get("joins") == "averaged"


def own_loss(finding: Finding, name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """The pass through this turn's own loss, the accumulator fed with its number.

    Three ways to write the fault: the root is what a meter gives back (`loss = meter.add(f(x))`), the root is the
    accumulator (`total += loss; total.backward()`), or something computed from it (`(total / n).backward()`).
    """
    for place in (finding.failed, finding.freed):
        here = project.at(place)
        if not here:
            continue
        source, statement = here
        scope = source.scope(statement)
        for call in pass_calls(statement)[:1]:
            root = call.func.value if isinstance(call.func, cst.Attribute) else None
            given = call.args[0].value if call.args and call.args[0].keyword is None else None
            if given is not None and base_of(name) in {base_of(n) for n in names_read(given)}:
                root = given  # of a framework's: `accelerator.backward(total)`
            if root is None or dotted(root) == "torch.autograd":
                continue
            yield from _through_meter(project, source, scope, statement, root)
            yield from _through_sum(source, scope, statement, root, name if "[" in name else base_of(name))
            yield from _through_average(project, source, scope, statement, root)


def _before(source: Source, scope: Scope, statement: cst.BaseStatement) -> list[cst.SimpleStatementLine]:
    """The simple statements above one, nearest first, in the same turn of its loop."""
    loops = source.loops(statement)
    region = source.body(loops[0]) if loops else source.body(scope)
    limit = source.order(statement)
    return [s for s in simple(region) if isinstance(s, cst.SimpleStatementLine) and source.order(s) < limit][::-1]


def _through_meter(
    project: Project, source: Source, scope: Scope, statement: cst.BaseStatement, root: cst.BaseExpression
) -> Iterator[tuple[Patch, str]]:
    """`loss = meter.add(criterion(x), n)` -> `loss = criterion(x)` and `meter.add(loss.item(), n)`."""
    wanted = dotted(root)
    tracked = project.tracked(source, scope)
    for above in _before(source, scope, statement):
        value = assigned_value(above, wanted) if wanted else None
        if value is None:
            continue
        if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute):
            for arg in value.args:
                if project.gives_history(arg.value, tracked) and not arg.star:
                    patch = Patch()
                    loss = source.code(arg.value)
                    reported = wanted and any(
                        s is not statement and source.order(s) > source.order(above) and wanted in names_read(s)
                        for s in simple(source.body(scope))
                    )
                    own = "batch_loss" if reported else wanted
                    fed = source.code(value).replace(loss, f"{own}.item()", 1)
                    if reported:  # what the meter gives is read as well: it keeps its name
                        fed = f"{wanted} = {fed}"
                        patch.replace(source, root, str(own))
                    patch.replace(source, above.body[0], f"{own} = {loss}{source.newline}{source.indent(above)}{fed}")
                    yield patch, f"Send `{own}` itself through the pass and give the meter its number"
        return


def _through_sum(
    source: Source, scope: Scope, statement: cst.BaseStatement, root: cst.BaseExpression, name: str
) -> Iterator[tuple[Patch, str]]:
    """`total += loss; total.backward()` -> `total += loss.item(); loss.backward()`."""
    behind = names_read(root)
    if sum(_added_in(source, s, name) for s in _before(source, scope, statement)) > 1:
        return  # several terms of one loss: see `restarted`
    for above in _before(source, scope, statement):
        small = above.body[0]
        if written(above) & behind and isinstance(small, cst.Assign) and plain(name) not in written(above):
            behind |= names_read(small.value)
        added = _added(source, small, name)
        if added is None or not (plain(name) in behind or not name):
            continue
        if source.loops(above)[:1] != source.loops(statement)[:1]:
            return  # a sum over an inner loop is one loss: see `restarted`
        patch = Patch()
        own = dotted(added)
        value = ".detach()" if _is_asked_as_tensor(source, name) else ".item()"
        if own is None:
            own = "batch_loss"
            patch.replace(
                source,
                small,
                f"{own} = {source.code(added)}{source.newline}{source.indent(above)}"
                + source.code(small).replace(source.code(added), own + value, 1),
            )
        else:
            patch.replace(source, added, attached(source, added, value))
        patch.replace(source, root, own)
        yield patch, f"Send `{own}` through the pass; `{name}` keeps the {'number' if value == '.item()' else 'value'}"
        return


def _through_average(
    project: Project, source: Source, scope: Scope, statement: cst.BaseStatement, root: cst.BaseExpression
) -> Iterator[tuple[Patch, str]]:
    """`mean = 0.9 * mean + 0.1 * loss; mean.backward()` -> `... + 0.1 * loss.item(); loss.backward()`."""
    running = dotted(root)
    for above in _before(source, scope, statement) if running else ():
        value = assigned_value(above, running)
        if value is None or not reads(value, running or ""):
            continue
        before = {w for s in _before(source, scope, above) for w in written(s)}
        losses = sorted((names_read(value) & before & project.tracked(source, scope)) - {running})
        if len(losses) == 1:
            patch = Patch()
            for node in reads(value, losses[0]):
                patch.append(source, node, ".item()")
            patch.replace(source, root, losses[0])
            yield patch, f"Send `{losses[0]}` through the pass; `{running}` keeps the number"
        return


def _is_asked_as_tensor(source: Source, name: str) -> bool:
    """Whether what the accumulator holds is used as a tensor elsewhere: `total.item()`, `torch.stack(losses)`."""
    for node in walk(source.module):
        if not isinstance(node, cst.Call):
            continue
        called = dotted(node.func) or ""
        if called in {f"{name}.item", f"{name}.detach", f"{name}.cpu"}:
            return True
        if isinstance(node.func, cst.Attribute) and node.func.attr.value in {"item", "detach"}:
            inner = node.func.value
            if isinstance(inner, cst.Subscript) and dotted(inner.value) == name:
                return True
        if called in {"torch.stack", "torch.cat", "torch.sum", "torch.mean"} and name in names_read(node):
            return True
    return False


def _means(source: Source, node: cst.CSTNode, name: str) -> bool:
    """Whether an expression is a name, or the item of a container that a name means."""
    if dotted(node) != plain(name):
        return False
    return "[" not in name or source.code(node).replace("'", '"').replace(" ", "") == name.replace("'", '"')


def _added(source: Source, small: cst.BaseSmallStatement, name: str) -> cst.BaseExpression | None:
    """What a statement adds to (or puts into) the accumulator."""
    if isinstance(small, cst.AugAssign) and _means(source, small.target, name):
        return small.value
    if (
        isinstance(small, cst.Assign)
        and _means(source, small.targets[0].target, name)
        and isinstance(small.value, cst.BinaryOperation)
    ):
        if isinstance(small.value.operator, cst.Add):
            left, right = small.value.left, small.value.right
            if _means(source, left, name):
                return right
            if _means(source, right, name):
                return left
    if (
        isinstance(small, cst.Expr)
        and isinstance(small.value, cst.Call)
        and isinstance(small.value.func, cst.Attribute)
    ):
        call = small.value
        holder = dotted(small.value.func.value)
        if holder and (holder == name or name.startswith(holder + ".")) and call.args:
            return call.args[0].value
    return None


def restarted(finding: Finding, name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """The accumulator starts anew in every turn: its first assignment moves (or is repeated) where the turn begins.

    Added up in a loop inside the turn of the pass: starts at the beginning of that turn. Added up in the same loop as
    a pass under a condition (every k-th turn): starts again behind the pass.
    """
    yield from _restarted_elsewhere(finding, name, project)
    yield from _restarted_by_method(finding, name, project)
    name = name if '["' in name else base_of(name)
    for source, scope in project.scopes(finding.failed, finding.freed, finding.built):
        site = next(iter(project.sites(source, scope, finding.failed)), None) if finding.failed else None
        body = source.body(scope)
        starts = [s for s in simple(body) if _starts(source, s, name)]
        if site is None or not starts:
            continue
        loops = source.loops(site)
        start = starts[0]
        turn = next((lp for lp in loops if not source.inside(start, lp)), None)
        if turn is None:
            continue
        line = source.code(start)
        patch = Patch()
        inner = source.body(turn)
        if source.within(site, inner) is site or isinstance(source.owner(site), cst.With):
            adds = next((s for s in simple(inner) if _added_in(source, s, name)), None)
            if adds is not None and source.loops(adds)[:1] == [turn]:
                continue  # one addend a pass: not a sum that was meant to start anew, but a log of the losses
            anchor = source.within(adds, inner) if adds is not None else inner[0]
            patch.insert_before(source, anchor or inner[0], line.splitlines())
            others = [
                s for s in simple(body) if s is not start and source.order(start) < source.order(s) < source.order(turn)
            ]
            if not any(plain(name) in names_read(s) for s in others) and not _read_after(
                source, body, turn, base_of(name)
            ):
                patch.delete(source, start)
            yield patch, f"Start `{name}` anew in every turn"
        else:
            anchor = _last_update(source, site)
            patch.insert_after(source, anchor, line.splitlines())
            yield patch, f"Start `{name}` anew behind the pass"
    if name.startswith("self."):
        yield from _restarted_attribute(finding, name, project)


def remade(finding: Finding, project: Project) -> Iterator[tuple[Patch, str]]:
    """Sums in an object that holds nothing else than sums and counts: another object takes its place behind the step."""
    for cut in cuts(finding, project):
        if not all("." in target for target in cut.targets):
            continue  # a plain name: no object has it
        holders = {
            target.rpartition(".")[0]: held[0].path.type_at(held[0].depth - 1) for target, held in cut.targets.items()
        }
        patch = Patch()
        for holder, kind in holders.items():
            made = [v for s in simple(cut.source.module, nested=True) if (v := assigned_value(s, holder)) is not None]
            if len(made) != 1 or not _only_counts(project, made[0], kind):
                break
            patch.insert_after(cut.source, cut.anchor, [f"{holder} = {cut.source.code(made[0])}"])
        else:
            if patch:
                yield patch, f"Start {' and '.join(f'`{h}`' for h in holders)} anew behind the pass"
                return


def _only_counts(project: Project, made: cst.BaseExpression, kind: str) -> bool:
    """Whether an expression makes an object without being given anything, whose class begins with empty values alone."""
    if not isinstance(made, cst.Call) or made.args or (dotted(made.func) or "").rpartition(".")[2] != kind:
        return False
    found = [(s, c) for s in project.sources for c in s.classes if c.name.value == kind]
    if len(found) != 1 or found[0][1].bases:
        return False
    source, owner = found[0]
    begins = [f for f in source.functions if source.class_of(f) is owner and f.name.value == "__init__"]
    body = source.body(begins[0]) if begins else []
    return bool(body) and all(any(_fresh(assigned_value(s, name)) for name in written(s)) for s in simple(body))


def _restarted_elsewhere(finding: Finding, name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """Added to in one function, sent through in another that is called under a condition: starts anew behind the pass."""
    here = project.at(finding.failed)
    if here is None or not name.startswith("self."):
        return
    source, site = here
    owner, scope = source.class_of(site), source.scope(site)
    methods = [f for f in source.functions if owner is not None and source.class_of(f) is owner]
    start = next((v for f in methods for s in simple(source.body(f)) if (v := _start(source, s, name))), None)
    for method in methods if start is not None else ():
        for adds in [s for s in simple(source.body(method)) if _added_in(source, s, name) and method is not scope]:
            calls_ = project.sites(source, method, finding.failed) if finding.failed else []
            counted = [
                s for s in calls_ if isinstance(source.owner(s), cst.If) and not source.inside(adds, source.owner(s))
            ]
            if counted and source.loops(counted[-1])[:1] == source.loops(adds)[:1]:
                patch = Patch()
                patch.insert_after(source, _last_update(source, site), [f"{name} = {start}"])
                yield patch, f"Start `{name}` anew behind the pass"
                return


def _restarted_by_method(finding: Finding, name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """What starts it is a method that is called before the loop, and starts nothing else: it is called in every turn."""
    own = {h.target.ways[-1].key for h in held_paths(finding) if h.depth} | {name.rpartition(".")[2].partition("[")[0]}
    begins = {
        f.name.value
        for s in project.sources
        for f in s.functions
        if f.name.value != "__init__" and _starts_only(s, s.body(f), own)
    }
    place = finding.failed
    for source, scope in project.scopes(place) if begins and place else ():
        for site in (project.sites(source, scope, place) if place else [])[-1:]:
            for one in simple(source.body(scope)):
                small = one.body[0] if isinstance(one, cst.SimpleStatementLine) and len(one.body) == 1 else None
                call = small.value if isinstance(small, cst.Expr) else None
                called = dotted(call.func) if isinstance(call, cst.Call) else None
                turn = next((lp for lp in source.loops(site) if not source.inside(one, lp)), None)
                if called is None or called.rpartition(".")[2] not in begins or turn is None:
                    continue
                if source.order(one) < source.order(turn):
                    patch = Patch()
                    patch.insert_before(source, source.body(turn)[0], [source.code(small or one)])
                    patch.delete(source, one)
                    yield patch, f"Call `{called}` in every turn"


def _starts_only(source: Source, body: list[cst.BaseStatement], attributes: set[str]) -> bool:
    """Whether a function does nothing but give some attributes their first values."""
    lines = [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine) and not _is_text(s)]
    starts = [
        any(w.rpartition(".")[2] in attributes and "." in w and _starts(source, s, w) for w in written(s))
        for s in lines
    ]
    return bool(starts) and all(starts)


def _is_text(statement: cst.SimpleStatementLine) -> bool:
    small = statement.body[0]
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString)


def _starts(source: Source, statement: cst.BaseStatement, name: str) -> bool:
    """Whether a statement gives a name, or an item of a container, its first value."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    if "[" in name and isinstance(small, cst.Assign) and len(small.targets) == 1:
        return _means(source, small.targets[0].target, name) and _fresh(small.value)
    return "[" not in name and _fresh(assigned_value(statement, name))


def _start(source: Source, statement: cst.BaseStatement, name: str) -> str | None:
    """What a name, or an item of a dict, is first given."""
    value = assigned_value(statement, name) if "[" not in name else None
    if value is None and isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Assign) and base_of(name) in written(statement) and isinstance(small.value, cst.Dict):
            keys = [e for e in small.value.elements if isinstance(e, cst.DictElement)]
            value = next((e.value for e in keys if name == f"{base_of(name)}[{_quoted(source, e.key)}]"), None)
    return source.code(value) if value is not None and _fresh(value) else None


def _quoted(source: Source, key: cst.BaseExpression) -> str:
    return f'"{key.evaluated_value!s}"' if isinstance(key, cst.SimpleString) else source.code(key)


def per_forward(name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """`self.aux = self.aux + term` in a forward, with a start in the constructor: each forward gives its own."""
    name = name if '["' in name else base_of(name)
    for source in project.sources if name.startswith("self.") else ():
        for function in [f for f in source.functions if f.name.value in {"forward", "__call__"}]:
            body = source.body(function)
            lines = [s for s in simple(body) if isinstance(s, cst.SimpleStatementLine)]
            adds = [s for s in lines if _added_in(source, s, name)]
            assigned = [s for s in simple(body) if name in written(s)]
            if not adds or any(not any(s is a for a in adds) for s in assigned):
                continue
            patch = Patch()
            if len(adds) == 1 and not source.loops(adds[0]):
                small = adds[0].body[0]
                patch.replace(source, small, f"{name} = {source.code(_added(source, small, name) or small)}")
                yield patch, f"Let every forward set `{name}` anew"
                continue
            methods = [f for f in source.functions if source.class_of(f) is source.class_of(function)]
            start = next((v for f in methods for s in simple(source.body(f)) if (v := _start(source, s, name))), None)
            first = source.within(adds[0], body)
            if start is not None and first is not None:
                patch.insert_before(source, first, [f"{name} = {start}"])
                yield patch, f"Start `{name}` anew in every forward"


def _restarted_attribute(finding: Finding, name: str, project: Project) -> Iterator[tuple[Patch, str]]:
    """An attribute that starts in another method, and that the method of the pass adds several terms to."""
    for source, scope in project.scopes(finding.failed):
        methods = [f for f in source.functions if source.class_of(f) is source.class_of(scope)]
        starts = [s for f in methods for s in simple(source.body(f)) if _fresh(assigned_value(s, name))]
        for site in project.sites(source, scope, finding.failed)[-1:] if finding.failed and starts else ():
            adds = [s for s in _before(source, scope, site) if _added_in(source, s, name)]
            if len(adds) > 1 and not any(source.inside(s, scope) for s in starts):
                patch = Patch()
                patch.insert_before(source, adds[-1], source.code(starts[0]).splitlines())
                yield patch, f"Start `{name}` anew for every pass"


def _last_update(source: Source, site: cst.BaseStatement) -> cst.BaseStatement:
    """The last statement of the block of the pass: whatever still wants the sum has had it."""
    block = source.block(site)
    last = block[-1]
    leaves = isinstance(last, cst.SimpleStatementLine) and isinstance(
        last.body[-1], cst.Return | cst.Continue | cst.Break | cst.Raise
    )
    return block[-2] if leaves and len(block) > 1 else last


def _added_in(source: Source, statement: cst.BaseStatement, name: str) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and any(
        _added(source, s, name) is not None for s in statement.body
    )


def _read_after(source: Source, body: list[cst.BaseStatement], turn: cst.CSTNode, name: str) -> bool:
    return any(source.order(s) > source.span(turn).end and name in names_read(s) for s in body)


def _fresh(value: cst.BaseExpression | None) -> bool:
    """An initial value: a literal, an empty container, zeros."""
    if isinstance(value, cst.BaseNumber | cst.UnaryOperation):
        return True
    if isinstance(value, cst.List | cst.Tuple | cst.Dict):
        return not value.elements
    if isinstance(value, cst.Call):
        last = (dotted(value.func) or "").rsplit(".", 1)[-1]
        return last in {"zeros", "tensor", "list", "dict", "deque", "zeros_like", "new_zeros", "float", "as_tensor"}
    return False
