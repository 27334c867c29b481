# SPDX-License-Identifier: BSD-3-Clause
"""Rounds of repair: one finding after the other, until the program is clean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from ...record import Finding, Proof, Remedy
from .. import retain_graph
from ..edit.patch import apply_edits, diff_of
from ..find.project import Project
from ..proposals import candidates
from .fork import starter
from .graphs import UNUSED
from .judge import Verdict, agrees_with_retained, prove, same
from .run import Command, Run, mirror, run

__all__ = ["ROUNDS", "Repair", "Round", "repair"]

ROUNDS = 5
_TRIES = 8


@dataclass
class Round:
    """One finding, what was tried, and what was chosen."""

    finding: Finding
    tried: list[Verdict] = field(default_factory=list)
    chosen: Verdict | None = None

    @property
    def reported(self) -> Finding:
        """The finding with its remedies and their proofs, the chosen one first."""
        order = ([self.chosen] if self.chosen else []) + [v for v in self.tried if v is not self.chosen]
        remedies = tuple(replace(v.remedy, proof=v.proof) for v in order)
        return replace(self.finding, remedies=remedies or self.finding.remedies)


@dataclass
class Repair:
    """The whole course."""

    first: Run
    last: Run
    rounds: list[Round] = field(default_factory=list)
    old: dict[str, str] = field(default_factory=dict)
    new: dict[str, str] = field(default_factory=dict)
    runs: int = 1
    spent: bool = False
    """Whether a remedy was left untried because no run was left."""
    interrupted: bool = False

    @property
    def failing(self) -> bool:
        """Whether the program still fails after all that could be proven: then nothing is changed."""
        return bool(self.new) and self.last.error is not None

    @property
    def diff(self) -> str:
        return diff_of(self.old, self.new)

    @property
    def left(self) -> list[Finding]:
        """What is still found in the repaired program."""
        return list(self.last.findings)


@dataclass
class Options:
    """How far to go."""

    until: int = 0
    timeout: float = 600.0
    unsafe: bool = False
    choose: Callable[[Finding, tuple[Remedy, ...]], tuple[Remedy, ...]] | None = None
    """Asks a person which remedies to try, in which order."""
    progress: Callable[[str, int], None] = lambda what, passes: None
    runs: int = 16
    """How many runs there may be in all."""


def repair(command: Command, options: Options) -> Repair:
    """Runs, explains, repairs and proves, at most `ROUNDS` times.

    Every run begins with the files as they are now: what a run writes, the next one does not find.
    """
    with mirror(command, {}) as pristine, starter() as start:
        return _repair(replace(command, pristine=pristine, starter=start), options)


def _repair(command: Command, options: Options) -> Repair:
    with mirror(command, {}) as root:
        try:
            first = run(
                command, root=root, until=options.until, timeout=options.timeout,
                progress=lambda n: options.progress("running", n),
            )  # fmt: skip
        except KeyboardInterrupt:
            return Repair(Run("stopped"), Run("stopped"), interrupted=True)
    if command.starter is not None:
        folders = (command.root, command.cwd, (command.cwd / command.program).parent)
        command.starter.settle(first.environment_untouched, folders)
    course = Repair(first, first)
    try:
        _rounds(command, options, course)
    except KeyboardInterrupt:
        course.interrupted = True
    return course


def _rounds(command: Command, options: Options, course: Repair) -> None:
    given_up: list[Finding] = []
    for _ in range(ROUNDS):
        finding = _next(course.last, given_up)
        if finding is None:
            break
        current = Round(finding)
        course.rounds.append(current)
        _try(command, options, course, current)
        if current.chosen is None:
            if finding.severity == "error":
                break
            given_up.append(finding)
            continue
        course.last = current.chosen.run


def _in_doubt(current: Round, remedy: Remedy) -> bool:
    """Whether a second pass behind a step may be one that counts: it goes only if a run has shown that no step uses what it
    leaves, whatever forward it has."""
    moves = current.finding.cause == "repeated-backward" and current.finding.facts.get("moves")
    return bool(moves) and remedy.kind == "other" and not any(v.proof.detail == UNUSED for v in current.tried)


def _compare_with_retained(
    command: Command, options: Options, course: Repair, current: Round, verdict: Verdict, project: Project
) -> None:
    """Demand 5 of a proof."""
    keep = Remedy("retain-graph", "")
    for way in retain_graph.propose(current.finding, keep, project):
        texts = {**course.new, **way.patch.result()}
        agrees = agrees_with_retained(verdict.run, command, texts, course.last.passes, options.timeout)
        if agrees is False:
            verdict.proof = Proof("refuted", "the gradients are not those of separate passes over a kept graph")
        elif agrees:
            detail = f"{verdict.proof.detail}; the first step's gradients are those of separate passes"
            verdict.proof = Proof("proven", detail)
        return


def _next(last: Run, given_up: list[Finding]) -> Finding | None:
    left = [f for f in last.findings if not any(same(f, g) for g in given_up)]
    return next((f for f in left if f.severity == "error"), next(iter(left), None))


def _try(command: Command, options: Options, course: Repair, current: Round) -> None:
    """Proves one remedy after the other; takes the first that leaves nothing, else the first that is proven at all."""
    project = Project(command.cwd, overlay=course.new)
    if command.file:
        project.source(command.file)  # and with it the user's files that it imports
    ways = candidates(current.finding, project)
    if options.choose is not None and ways:
        ways = options.choose(current.finding, ways)
    again: list[Run] = []

    def rerun() -> Run:
        if course.last is not course.first:
            return course.last
        if not again:
            with mirror(command, {}) as root:
                until = options.until or course.first.passes
                again.append(run(command, root=root, until=until, timeout=options.timeout))
        return again[0]

    best: tuple[Verdict, dict[str, str]] | None = None
    for remedy in ways[:_TRIES]:
        if _in_doubt(current, remedy):
            continue
        if course.runs >= options.runs:
            course.spent = True
            break
        course.runs += 1
        texts = {file: project.source(file).text for file in {e.file for e in remedy.edits} if project.source(file)}  # type: ignore[union-attr]
        new = {**course.new, **{f: apply_edits(t, [e for e in remedy.edits if e.file == f]) for f, t in texts.items()}}
        try:
            verdict = prove(
                current.finding, remedy, course.last, command, new, until=options.until, timeout=options.timeout,
                progress=partial(options.progress, f"round {len(course.rounds)}, run {course.runs}: {remedy.kind}"),
                rerun=rerun, old=texts,
            )  # fmt: skip
        except KeyboardInterrupt:
            current.tried.append(Verdict(remedy, Proof("not run", "stopped before it had ended"), course.last))
            raise
        if verdict.proven and remedy.kind == "combine-losses" and remedy.safe:
            _compare_with_retained(command, options, course, current, verdict, project)
        current.tried.append(verdict)
        usable = verdict.proven or (options.unsafe and verdict.proof.status == "not run")
        if usable and (best is None or (verdict.clean and not best[0].clean)):
            best = verdict, new
            for file, text in texts.items():
                course.old.setdefault(file, text)
        if usable and (verdict.clean or verdict.run.error is None):
            break
    if best is not None:
        current.chosen, course.new = best
    course.old = {f: t for f, t in course.old.items() if f in course.new}
