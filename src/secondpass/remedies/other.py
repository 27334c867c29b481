# SPDX-License-Identifier: BSD-3-Clause
"""other: what is one too many goes (a pass, a step), an accumulator starts anew, a checkpoint is of the other kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from ..record import Finding, Remedy
from .detach import seen
from .edit.source import Source, walk
from .find.crossing import is_update
from .find.flow import calls, dotted, history_slice, method_call, names_read, simple, written
from .find.project import Project
from .proposal import Way
from .rewrite.accumulator import per_forward, remade, restarted
from .rewrite.arguments import pass_calls, set_argument
from .rewrite.emptied import emptied
from .rewrite.not_reentrant import not_reentrant
from .rewrite.registered import registered

__all__ = ["leaves_pass_out", "propose"]

_SUMS = "the sum goes on, and every pass sends back what is new in it; what it was before has had its own"


def propose(finding: Finding, remedy: Remedy, project: Project) -> Iterator[Way]:
    """By cause."""
    name = remedy.target or (finding.carrier.name if finding.carrier else "")
    if finding.cause in {"repeated-backward", "silent-reuse"}:
        yield from _one_too_many(finding, project)
    elif finding.cause in {"accumulated-loss", "carried-state"} and name:
        for patch, title in restarted(finding, name, project):
            yield Way(patch, title, safe=True, why="every pass then goes through the losses since the last one only")
        for patch, title in per_forward(name, project):  # right where a pass has one forward
            yield Way(patch, title, safe=False, why="every pass then goes through what its own forward has added")
        for patch, title in remade(finding, project):
            yield Way(
                patch, title, safe=False, why="every pass then goes through what was added since the last one only"
            )
        if finding.cause == "accumulated-loss" and _only_added(finding):
            yield from _value_only(finding, project)
    elif finding.cause == "stored-history" and name:
        yield from emptied(finding, name, project)
    elif finding.cause == "stale-gradient":
        yield from _step_with_pass(finding, project)
    elif finding.cause == "freed-access" or remedy.target == "use_reentrant":
        yield from not_reentrant(project, remedy.place)
    elif remedy.target == "donated_buffer":
        yield from _not_donated(finding, project)
    elif remedy.target == "find_unused_parameters":
        yield from _searched(remedy, project)
    elif finding.facts.get("unregistered"):
        yield from registered(finding, str(finding.facts["unregistered"]), project)
    elif finding.cause == "unreached-parameter":
        yield from _of_another(finding, remedy.target, project)


def _only_added(finding: Finding) -> bool:
    """Whether the sum itself is the loss, or a term of it: what it was before then counts for nothing in the gradient."""
    facts = (finding.facts.get("why") or {}).get("facts") or {}
    return facts.get("joins") == "added"


def _value_only(finding: Finding, project: Project) -> Iterator[Way]:
    """The sums go on as values: the next pass goes through what is new."""
    for way in seen(finding, project):
        yield replace(way, title=way.title.replace("Detach", "Keep the value of", 1), why=_SUMS)


def _not_donated(finding: Finding, project: Project) -> Iterator[Way]:
    """Said where the program begins, and so before anything is compiled."""
    stack = finding.facts.get("used_stack") or [{}]
    source = project.source(str(stack[-1].get("file") or ""))
    top = [s for s in source.body(source.module) if isinstance(s, cst.SimpleStatementLine)] if source else []
    imports = [s for s in top if isinstance(s.body[0], cst.Import | cst.ImportFrom)]
    if source is not None and imports:
        way = Way(title="Compile without donated buffers", safe=True, why="what a pass may need again is left as it is")
        module = "torch._functorch.config"
        way.patch.insert_after(source, imports[-1], [f"import {module}", "", f"{module}.donated_buffer = False"])
        yield way


def _searched(remedy: Remedy, project: Project) -> Iterator[Way]:
    """DistributedDataParallel looks in every forward for what takes no part."""
    way = Way(title=remedy.title.replace("give", "Give", 1), why=remedy.why)
    for source in project.sources:
        names = {"DistributedDataParallel"}
        for node in walk(source.module):
            if isinstance(node, cst.ImportAlias) and node.name.value == "DistributedDataParallel" and node.asname:
                names.add(source.code(node.asname.name))
        for node in walk(source.module):
            if isinstance(node, cst.Call) and (dotted(node.func) or "").rpartition(".")[2] in names:
                if way.patch:
                    return  # of several, nothing says which
                set_argument(way.patch, source, node, "find_unused_parameters", "True")
    if way.patch:
        yield way


def _of_another(finding: Finding, name: str, project: Project) -> Iterator[Way]:
    """The optimizer is made of the network that the losses reach, once that is there."""
    here, held = project.at(finding.failed), str(finding.facts.get("held") or "")
    if not here or not name or not held or not isinstance(here[1], cst.SimpleStatementLine):
        return
    source, made = here
    text = re.sub(rf"(?<![\w.]){re.escape(held)}\.(?=(named_)?parameters\()", f"{name}.", source.code(made))
    if text == source.code(made):
        return
    way = Way(title=f"Make the optimizer of `{name}`", safe=True, why="it then moves what the loss reaches")
    later = [s for s in source.block(made) if source.order(s) > source.order(made) and name in written(s)]
    if later:
        way.patch.insert_after(source, later[0], [text])
        way.patch.delete(source, made)
    else:
        way.patch.replace(source, made, text)
    yield way


def _one_too_many(finding: Finding, project: Project) -> Iterator[Way]:
    """The second of two passes over one root, with no step between them: the gradient is already there."""
    here = project.at(finding.failed)
    if not here or finding.failed is None or finding.freed is None or finding.freed == finding.failed:
        return
    if finding.cause == "repeated-backward" and (not finding.facts.get("adds", True) or finding.facts.get("shares")):
        return
    source, statement = here
    if not pass_calls(statement):
        yield from _made_by_others(finding, project)
        return
    if not _is_alone(statement):
        return
    if finding.facts.get("entered"):
        # A step may call its closure any number of times: that is where its pass belongs.
        outer = project.at(finding.freed)
        if outer and _is_alone(outer[1]) and pass_calls(outer[1]) and not project.reads_gradients:
            yield _without(*outer, "the step makes this pass itself, in its closure", safe=False, which="first")
        return
    if finding.facts.get("moves"):
        # Behind a step, and no step uses it: see `prove.rounds`. Who looks at gradients may want to see this one.
        if not finding.facts.get("looping") and not project.reads_gradients:
            yield _without(source, statement, "no step uses the gradient that it leaves", safe=False)
        return
    observed = finding.facts.get("adds") and finding.facts.get("moves") is False
    for where, scope in () if observed else project.scopes(finding.failed):
        first = project.sites(where, scope, finding.freed)
        second = project.sites(where, scope, finding.failed)
        if second:
            # Where the first pass cannot be told in the text, it may have come before anything here.
            stretch = where.order(first[0]) if first else -1, where.order(second[-1])
            if any(
                stretch[0] < where.order(s) < stretch[1] and method_call(s, "step", "zero_grad")
                for s in simple(where.body(scope))
                if isinstance(s, cst.SimpleStatementLine)
            ):
                return
            break
    yield _without(source, statement, "the first pass has already put the gradient of this root in place", safe=True)


def _without(source: Source, statement: cst.BaseStatement, why: str, *, safe: bool, which: str = "second") -> Way:
    """The program without one of two passes."""
    way = Way(title=f"Remove the {which} pass", safe=safe, why=why)
    way.patch.delete(source, statement)
    return way


def _is_alone(statement: cst.BaseStatement) -> bool:
    """Whether a statement is one call, whose value nobody takes."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    return isinstance(small, cst.Expr)


def _made_by_others(finding: Finding, project: Project) -> Iterator[Way]:
    """The second pass is made by a framework that was given the loss: the program's own is one too many."""
    here = project.at(finding.freed)
    if not here or not _is_alone(here[1]) or not pass_calls(here[1]) or not finding.facts.get("adds"):
        return
    way = Way(title="Leave the pass to the framework", safe=False)
    way.why = "the framework sends the loss that it is given through backward itself"
    block = here[0].block(here[1])
    if len(block) == 1:
        way.patch.replace(here[0], here[1], "pass")
    else:
        way.patch.delete(here[0], here[1])
    yield way


def _step_with_pass(finding: Finding, project: Project) -> Iterator[Way]:
    """A step that follows another one with no pass between goes."""
    here = project.at(finding.failed)
    if not here or not isinstance(here[1], cst.SimpleStatementLine) or not method_call(here[1], "step"):
        return
    source, step = here
    block = source.block(step)
    earlier = [
        s
        for s in block
        if source.order(s) < source.order(step) and project.optimizer_of(s) == project.optimizer_of(step)
    ]
    if earlier:
        between = [s for s in block if source.order(earlier[-1]) < source.order(s) < source.order(step)]
        if not any(pass_calls(t) for s in between for t in simple([s])):
            way = Way(
                title="Remove the second step",
                safe=False,
                why="it applies a gradient that was applied already; fewer steps are made",
            )
            way.patch.delete(source, step)
            yield way
    others = [
        s for w in project.sources for s in simple(w.module, nested=True) if s is not step and method_call(s, "step")
    ]
    alone = not any(pass_calls(s) for s in simple(source.body(source.scope(step))))
    if not earlier and alone and any(isinstance(s, cst.SimpleStatementLine) for s in others):
        way = Way(
            title="Remove the step that comes without a pass",
            safe=False,
            why="it applies a gradient again; fewer steps are made",
        )
        way.patch.delete(source, step)
        yield way
    elif not earlier:
        for statement in [s for s in block if isinstance(s, cst.If) and source.order(s) < source.order(step)]:
            passes = [s for s in simple([statement]) if isinstance(s, cst.SimpleStatementLine) and pass_calls(s)]
            between = [s for s in block if source.order(statement) < source.order(s) < source.order(step)]
            moved = [s for s in between if is_update(s)]
            if any(True for s in between if s not in moved for _ in calls(s)):
                continue  # whether it has to come before the step cannot be told
            if passes and not leaves_pass_out(source, statement):
                way = Way(
                    title="Step only where there is a new gradient",
                    safe=False,
                    why="a step without a new pass repeats an old gradient; fewer steps are made",
                )
                way.patch.insert_after(source, source.block(passes[-1])[-1], [source.code(s) for s in (*moved, step)])
                for one in (*moved, step):
                    way.patch.delete(source, one)
                yield way


def leaves_pass_out(source: Source, branch: cst.If) -> bool:
    """Whether every turn computes a loss and a condition that has nothing to do with it leaves its pass out.

    Then the pass may be what is missing, and not the step what is too much.
    """
    sites = [s for s in simple([branch]) if isinstance(s, cst.SimpleStatementLine) and pass_calls(s)]
    chain = history_slice(source, branch, names_read(sites[-1]), None, source.block(branch)) if sites else []
    made = {n.split(".")[0] for s in chain for n in written(s) | names_read(s)}
    roots = {n.split(".")[0] for s in chain for n in written(s)} & (names_read(sites[-1]) if sites else set())
    return bool(roots) and not made & {n.split(".")[0] for n in names_read(branch.test)}
