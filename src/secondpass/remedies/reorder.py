# SPDX-License-Identifier: BSD-3-Clause
"""reorder: the same statements in the order that the graph needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from ..record import Finding, Place, Remedy
from .detach import stepped
from .edit.source import Source, walk
from .find.callers import parameters_of as arguments_of
from .find.crossing import past_updates
from .find.flow import assigned_value, base_of, calls, dotted, method_call, names_read, simple, written
from .find.project import Project, Scope
from .inputs import parameters_of
from .proposal import Way
from .rewrite.arguments import backward_calls, pass_calls, set_argument
from .rewrite.exchanged import handed_over
from .rewrite.moves import lines_of
from .rewrite.turns import passes_first, turns_apart

__all__ = ["propose"]


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """What to move, and where to, by cause."""
    if finding.cause == "misplaced-zero-grad":
        yield from _zero_grad(finding, remedy, project)
    elif finding.cause == "unreached-parameter" and finding.facts.get("lives_on"):
        return  # whoever goes on with the old network would go on with one that was never trained
    elif finding.cause == "unreached-parameter":
        yield from _optimizer_later(finding, remedy, project)
        yield from handed_over(finding, remedy.target, project)
    elif finding.cause == "freed-access":
        yield from _access_first(finding, project)
    else:
        yield from _out_of_forward(finding, project)
        yield from _write_later(finding, project)
        yield from passes_first(finding, project)


def _move(way: Way, source: Source, statement: cst.BaseStatement, anchor: cst.BaseStatement, after: bool) -> Way:
    (way.patch.insert_after if after else way.patch.insert_before)(source, anchor, lines_of(source, statement))
    way.patch.delete(source, statement)
    return way


def _write_later(finding: Finding, project: Project) -> Iterator[Way]:
    """The change of the parameters behind the pass that needs their old values (and behind its step)."""
    if finding.failed is None or finding.freed is None:
        return
    for source, scope in project.scopes(finding.failed, finding.freed):
        for site in project.sites(source, scope, finding.failed)[-1:]:
            block = source.block(site)
            before = [
                s
                for s in block
                if source.order(s) < source.order(site)
                and not isinstance(s, cst.FunctionDef | cst.ClassDef)
                and project.leads_to(source, s, finding.freed)
            ]
            for write in before[-1:]:
                steps = method_call(write, "step") is not None
                if steps and finding.facts.get("kept_apart"):
                    continue  # behind the pass it would apply that pass's gradient, and not its own
                if steps and any(source.order(s) > source.order(site) and _same(source, s, write) for s in block):
                    way = Way(title="Step once, behind the last pass", safe=False)
                    way.why = "both losses' gradients are there when the step is made: one step in place of two"
                    way.patch.delete(source, write)
                    _clear_first(way, source, block, write, site)
                    yield way
                    continue
                way = Way(title=f"Move `{source.code(write).splitlines()[0]}` behind the pass", safe=not steps)
                way.why = "the pass then sees the values that its forward was computed with"
                if steps:
                    way.why += "; both losses' gradients are there when the step is made"
                if steps:
                    _clear_first(way, source, block, write, site)
                    _only_its_own(way, finding, source, scope, write, site, project)
                yield _move(way, source, write, past_updates(source, site) if not steps else site, after=True)


def _only_its_own(
    way: Way,
    finding: Finding,
    source: Source,
    scope: Scope,
    write: cst.BaseStatement,
    site: cst.BaseStatement,
    project: Project,
) -> None:
    """A step that comes behind another optimizer's pass must not use what that pass gives its parameters."""
    own, known = _stepper(project, source, write), set(finding.facts.get("owners") or ())
    after = [s for s in simple(source.body(scope)) if source.order(s) > source.order(site)]
    steps = [n for s in after if isinstance(s, cst.SimpleStatementLine) and (n := _stepper(project, source, s))]
    # Of one container, each of the optimizers in it is one.
    known |= {n for n in steps if own in known and "[" in n and base_of(n) == base_of(own)}
    calls = backward_calls(site)
    # What both own gets both passes' gradients in any case.
    shared = own and steps and project.optimizers.get(own, set()) & project.optimizers.get(steps[0], set())
    if steps and own in known and steps[0] in known and steps[0] != own and len(calls) == 1 and not shared:
        set_argument(way.patch, source, calls[0], "inputs", parameters_of(source, scope, steps[0], project))
        way.why = "the pass then sees the values that its forward was computed with, and each step its own gradients"


def _stepper(project: Project, source: Source, step: cst.CSTNode) -> str:
    """The optimizer of a step in the words of the source, keys included: `opts["pull"]`."""
    call, name = method_call(step, "step"), project.optimizer_of(step)
    if call is None or name is None or not isinstance(call.func, cst.Attribute):
        return ""
    holders = [call.func.value, *(a.value for a in call.args[:1])]
    return next((source.code(h) for h in holders if dotted(h) == name), name)


def _same(source: Source, one: cst.BaseStatement, other: cst.BaseStatement) -> bool:
    return isinstance(one, cst.SimpleStatementLine) and source.code(one).strip() == source.code(other).strip()


def _out_of_forward(finding: Finding, project: Project) -> Iterator[Way]:
    """A forward that changes its own parameters (`self.unit_rows()`): the change comes behind the step instead."""
    if finding.failed is None or finding.freed is None:
        return
    for where in project.sources:
        for forward in [f for f in where.functions if f.name.value == "forward"]:
            changes = [s for s in where.body(forward) if _own_call(s) and project.leads_to(where, s, finding.freed)]
            for source, scope in project.scopes(finding.failed) if len(changes) == 1 else ():
                for site in project.sites(source, scope, finding.failed)[-1:]:
                    trained = stepped(project, finding.failed)
                    if len(trained) == 1:
                        call = where.code(changes[0]).strip().replace("self.", f"{next(iter(trained))}.", 1)
                        way = Way(title=f"Call `{call}` behind the step", safe=False)
                        way.why = "the pass then sees the values that its forward was computed with"
                        way.patch.insert_after(source, past_updates(source, site), [call])
                        way.patch.delete(where, changes[0])
                        yield way
                        return


def _own_call(statement: cst.BaseStatement) -> bool:
    """`self.method()`, without arguments."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    call = small.value if isinstance(small, cst.Expr) else None
    return isinstance(call, cst.Call) and not call.args and (dotted(call.func) or "").startswith("self.")


def _clear_first(
    way: Way, source: Source, block: list[cst.BaseStatement], write: cst.BaseStatement, site: cst.BaseStatement
) -> None:
    """What is cleared between a step and the pass that it now comes behind would be lost to it: cleared before."""
    passes = [s for s in block if source.order(s) < source.order(write) and any(pass_calls(t) for t in simple([s]))]
    for clear in block:
        between = source.order(write) < source.order(clear) < source.order(site)
        if passes and between and method_call(clear, "zero_grad") and isinstance(clear, cst.SimpleStatementLine):
            if not any(source.order(s) < source.order(passes[-1]) and _same(source, s, clear) for s in block):
                way.patch.insert_before(source, passes[-1], lines_of(source, clear))
            way.patch.delete(source, clear)


def _zero_grad(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """Clearing goes before the pass; behind the step where the step is made every k-th turn."""
    why = "the step then finds the gradients of the passes before it"
    for place in (remedy.place, finding.failed, finding.used):
        here = project.at(place)
        if not here or not method_call(here[1], "zero_grad"):
            continue
        source, clear = here
        scope = source.scope(clear)
        yield from turns_apart(source, clear)
        loop = next(iter(source.loops(clear)), None)
        beside = [s for s in _steps(source, scope) if loop is not None and source.loops(s)[:1] == [loop]]
        if loop is not None and beside and not any(pass_calls(s) for s in simple(source.body(loop))):
            # One optimizer after the other: what the later ones are to apply is still needed.
            yield _move(
                Way(title="Clear the gradients behind all steps", safe=True, why=why), source, clear, loop, after=True
            )
        counted = [
            s
            for s in _steps(source, scope)
            if isinstance(source.owner(s), cst.If) and not source.inside(clear, source.owner(s))
        ]
        if counted:
            way = Way(title="Clear the gradients behind the step", safe=True, why=why)
            for one in _beside(source, clear):
                own = [s for s in counted if project.optimizer_of(s) == _cleared(one)]
                _move(way, source, one, (own or counted)[-1], after=True)
            yield way
        block = source.block(clear)
        passes = [s for s in block if source.order(s) < source.order(clear) and any(pass_calls(t) for t in simple([s]))]
        if passes:
            steps_between = [
                s
                for s in block
                if source.order(passes[-1]) < source.order(s) < source.order(clear) and method_call(s, "step")
            ]
            if not steps_between:
                first = _first_of_turn(source, block, passes)
                yield _move(
                    Way(title="Clear the gradients before the pass", safe=True, why=why),
                    source,
                    clear,
                    first,
                    after=False,
                )
        following = [s for s in block if source.order(s) > source.order(clear) and method_call(s, "step")]
        if following:
            yield _move(
                Way(title="Clear the gradients behind the step", safe=True, why=why),
                source,
                clear,
                following[-1],
                after=True,
            )
        yield from _with_the_step(project, source, clear, why)
        yield from _elsewhere(project, source, clear, why)
        yield from _behind_its_step(project, source, clear, why)


def _cleared(clear: cst.BaseStatement) -> str | None:
    """`x` of `x.zero_grad()`."""
    call = method_call(clear, "zero_grad")
    return dotted(call.func.value) if call is not None and isinstance(call.func, cst.Attribute) else None


def _beside(source: Source, clear: cst.BaseStatement) -> list[cst.BaseStatement]:
    """The clearing and those that stand with it: what is wrong with one of several optimizers' is wrong with all."""
    block = source.block(clear)
    first = last = next(i for i, s in enumerate(block) if s is clear)
    while first and _cleared(block[first - 1]) and isinstance(block[first - 1], cst.SimpleStatementLine):
        first -= 1
    while last + 1 < len(block) and _cleared(block[last + 1]) and isinstance(block[last + 1], cst.SimpleStatementLine):
        last += 1
    return block[first : last + 1]


def _first_of_turn(
    source: Source, block: list[cst.BaseStatement], passes: list[cst.BaseStatement]
) -> cst.BaseStatement:
    """The first pass since the last step: several passes may add up before one step."""
    steps = [source.order(s) for s in block if method_call(s, "step") and source.order(s) < source.order(passes[-1])]
    return next(p for p in passes if not steps or source.order(p) > steps[-1])


def _with_the_step(project: Project, source: Source, clear: cst.BaseStatement, why: str) -> Iterator[Way]:
    """A step that is not made in every turn, though its line runs, is made by a wrapper that knows when (Accelerate's): it knows
    when to clear as well, where the network does not."""
    call = method_call(clear, "zero_grad")
    steps = [s for s in source.block(clear) if isinstance(s, cst.SimpleStatementLine) and method_call(s, "step")]
    own = {o for s in steps if (o := project.optimizer_of(s))}
    if call is not None and isinstance(call.func, cst.Attribute) and len(own) == 1 and _cleared(clear) not in own:
        optimizer = next(iter(own))
        way = Way(title=f"Let `{optimizer}` clear, which knows when it steps", safe=False, why=why)
        way.patch.replace(source, call.func.value, optimizer)
        yield way


def _elsewhere(project: Project, source: Source, clear: cst.BaseStatement, why: str) -> Iterator[Way]:
    """Cleared in a function that is called between pass and step: cleared before the pass instead."""
    for where in project.sources:
        scopes: list[Scope] = [*where.functions, where.module]
        for scope in scopes:
            passes = [s for s in simple(where.body(scope)) if pass_calls(s) and isinstance(s, cst.SimpleStatementLine)]
            steps = [s for s in _steps(where, scope) if passes and where.order(s) > where.order(passes[0])]
            if not steps or scope is source.scope(clear):
                continue
            call = method_call(steps[0], "step")
            optimizer = dotted(call.func.value) if call is not None and isinstance(call.func, cst.Attribute) else None
            if optimizer:
                way = Way(title="Clear the gradients before the pass", safe=True, why=why)
                way.patch.delete(source, clear)
                way.patch.insert_before(where, passes[0], [f"{optimizer}.zero_grad()"])
                yield way


def _behind_its_step(project: Project, source: Source, clear: cst.BaseStatement, why: str) -> Iterator[Way]:
    """Cleared in one function, stepped in another (two handlers, two methods): cleared where the step is made."""
    call, name = method_call(clear, "zero_grad"), _cleared(clear) or ""
    if call is None or not isinstance(clear, cst.SimpleStatementLine):
        return
    everywhere = [(w, s) for w in project.sources for s in simple(w.module, nested=True)]
    lines = [(w, s) for w, s in everywhere if isinstance(s, cst.SimpleStatementLine) and method_call(s, "step")]
    steps = [(w, s, o) for w, s in lines if (o := project.optimizer_of(s))]
    own = [x for x in steps if x[2].rpartition(".")[2] == name.rpartition(".")[2]] or steps
    if len(own) != 1 or own[0][0].scope(own[0][1]) is source.scope(clear):
        return
    where, step, optimizer = own[0]
    way = Way(title="Clear the gradients behind the step", safe=True, why=why)
    way.patch.insert_after(where, step, [f"{optimizer}.zero_grad{source.code(call)[len(source.code(call.func)) :]}"])
    way.patch.delete(source, clear)
    yield way


def _steps(source: Source, scope: Scope) -> list[cst.SimpleStatementLine]:
    return [s for s in simple(source.body(scope)) if isinstance(s, cst.SimpleStatementLine) and method_call(s, "step")]


def _optimizer_later(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """The optimizer is made when the network has its final parts."""
    name = base_of(remedy.target or (finding.carrier.name if finding.carrier else ""))
    for source in project.sources:
        scopes: list[Scope] = [*source.functions, source.module]
        for scope in scopes:
            statements = [s for s in simple(source.body(scope)) if isinstance(s, cst.SimpleStatementLine)]
            for made in [s for s in statements if written(s) & project.optimizers.keys()]:
                block = source.block(made)
                trained = {n.split(".")[0] for w in written(made) for n in project.optimizers.get(w, ())}
                parts = {
                    n
                    for n in names_read(made)
                    if name and (n == name or name.startswith(n + ".") or n.startswith(name + "."))
                }
                later = [
                    s
                    for s in block
                    if source.order(s) > source.order(made)
                    and (
                        any(w in parts or w.split(".")[0] in trained for w in written(s))
                        or _exchanges(project, s, trained)
                    )
                ]
                made_of = _made_of(source, block, made)
                used = [
                    s
                    for s in block
                    if source.order(s) > source.order(made)
                    and not any(s is m for m in made_of)
                    and any(written(m) & names_read(s) for m in made_of)
                ]
                later = [s for s in later if not used or source.order(s) < source.order(used[0])]
                moved = [m for m in made_of if later and source.order(m) < source.order(later[-1])]
                between = [s for s in block if not any(s is o for o in (*moved, *later))]
                if any(
                    source.order(m) < source.order(s) < source.order(later[-1]) and written(s) & names_read(m)
                    for m in moved
                    for s in between
                ):
                    continue  # it would be made of other values
                if later and not _lost_to_caller(source, scope, later[-1]):
                    way = Way(
                        title="Make the optimizer behind the exchange",
                        safe=True,
                        why="it then trains the parts that the loss reaches",
                    )
                    for one in moved:
                        _move(way, source, one, later[-1], after=True)
                    yield way


def _made_of(source: Source, block: list[cst.BaseStatement], made: cst.BaseStatement) -> list[cst.BaseStatement]:
    """An optimizer, and what is made of it in the lines behind: a scheduler. They move together."""
    found = [made]
    for statement in [s for s in block if source.order(s) > source.order(made)]:
        value = assigned_value(statement)
        read = any(written(m) & names_read(statement) for m in found)
        if read and isinstance(value, cst.Call) and not written(statement) & set().union(*map(written, found)):
            found.append(statement)
        elif read:
            break
    return found


def _lost_to_caller(source: Source, scope: Scope, exchange: cst.BaseStatement) -> bool:
    """Whether what takes the place of an argument ends with the function: the caller's own would stay untrained."""
    gone = written(exchange) & set(arguments_of(scope))
    returned = [n for s in simple(source.body(scope)) for n in walk(s) if isinstance(n, cst.Return) and n.value]
    return bool(gone) and not any(gone & names_read(r) for r in returned)


def _exchanges(project: Project, statement: cst.BaseStatement, trained: set[str]) -> bool:
    """Whether a statement calls a function of the user's that sets parts of the network: `replace_head(model)`."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    for call in calls(statement):
        given = {dotted(a.value) for a in call.args} | {(dotted(call.func) or "").split(".")[0]}
        for where, function in project.callees(call) if given & trained else ():
            own = {p.name.value for p in function.params.params}
            if any("." in w and w.split(".")[0] in own for s in simple(where.body(function)) for w in written(s)):
                return function.name.value not in {"forward", "__call__"}
    return False


def _access_first(finding: Finding, project: Project) -> Iterator[Way]:
    """The access before the pass, where both stand in one block, or the pass in a loop of that block."""
    if finding.failed is None or finding.freed is None:
        return
    for source, scope in project.scopes(finding.failed, finding.freed):
        for read in project.sites(source, scope, finding.failed)[-1:]:
            site: cst.BaseStatement = read
            block, passes = _before(source, project, site, finding.freed)
            while not passes and isinstance(around := source.owner(site), cst.If) and len(block) == 1:
                site = around  # alone under its condition, it goes with that
                block, passes = _before(source, project, site, finding.freed)
            if passes and isinstance(passes[-1], cst.For | cst.While) and isinstance(site, cst.SimpleStatementLine):
                # Behind a loop: what its last turn reads is what was meant.
                inner = source.body(passes[-1])
                passes = [s for s in inner if project.leads_to(source, s, finding.freed)]
            if passes and isinstance(passes[-1], cst.SimpleStatementLine):
                way = Way(title="Read the graph before the pass frees it", safe=True, why="the buffers are still there")
                for one in (*_counts(source, passes[-1], site), site):
                    way = _move(way, source, one, passes[-1], after=False)
                yield way


def _counts(source: Source, first: cst.BaseStatement, site: cst.BaseStatement) -> list[cst.BaseStatement]:
    """What is assigned in between without a call (`self.step += 1`), where functions that are called may read it: it goes along."""
    block = source.block(site)
    if not any(True for _ in calls(site)) or not any(s is first for s in block):
        return []
    between = [s for s in block if source.order(first) < source.order(s) < source.order(site)]
    return [s for s in between if written(s) and not any(True for _ in calls(s))]


def _before(
    source: Source, project: Project, site: cst.BaseStatement, freed: Place
) -> tuple[list[cst.BaseStatement], list[cst.BaseStatement]]:
    """The block of a statement, and those before it in that block that come to a pass."""
    block = source.block(site)
    return block, [s for s in block if source.order(s) < source.order(site) and project.leads_to(source, s, freed)]
