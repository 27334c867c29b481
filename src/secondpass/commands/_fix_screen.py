# SPDX-License-Identifier: BSD-3-Clause
"""What `secondpass fix` says, asks and writes."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import click

from ..record import Finding, Remedy, Report
from ..remedies.edit.write import UNDO, Refused, undo, write
from ..remedies.prove.rounds import ROUNDS, Options, Repair, Round
from ..remedies.prove.run import Command
from ..render import width_for
from ._uncaught import without_torch

__all__ = ["Screen", "undo_last"]


def undo_last(root: Path) -> int:
    try:
        files = undo(root)
    except Refused as reason:
        click.echo(f"secondpass fix --undo: {reason}", err=True)
        return 1
    click.echo("put back: " + ", ".join(files) if files else "nothing had been changed")
    return 0


class Screen:
    """Standard output has the result; standard error has the progress."""

    def __init__(self, diff_only: bool) -> None:
        self.diff_only = diff_only
        self.live = sys.stderr.isatty()

    def say(self, text: str = "") -> None:
        if not self.diff_only:
            click.echo(text)

    def tell(self, text: str, indent: int = 0) -> None:
        """Sentences, as wide as what `run` prints."""
        rows = textwrap.wrap(
            text,
            width_for(sys.stdout),
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        self.say("\n".join(rows))

    def progress(self, what: str, passes: int) -> None:
        if self.live:
            click.echo(f"\r\033[K{what} ... {passes} passes", nl=False, err=True)

    def clear(self) -> None:
        if self.live:
            click.echo("\r\033[K", nl=False, err=True)

    def choose(self, finding: Finding, ways: tuple[Remedy, ...]) -> tuple[Remedy, ...]:
        """Asks which remedy to try."""
        self.clear()
        click.echo(f"{finding.code} {finding.cause}: {finding.message}\n")
        for i, way in enumerate(ways, 1):
            click.echo(f"[{i}] {way.kind}: {way.title}\n{way.diff}")
        number = click.prompt("Which one (0: none)", type=click.IntRange(0, len(ways)), default=1)
        return (ways[number - 1],) if number else ()

    def show(self, course: Repair, command: Command, *, write: bool, json_file: str | None) -> int:
        """Everything at the end; gives the exit status back."""
        if json_file:
            self._json(course, command, json_file)
        if not course.rounds:
            if course.interrupted:
                self.say("Stopped before anything was found.")
                return 130
            return self._nothing(course)
        for number, one in enumerate(course.rounds, 1):
            self._round(number, one)
        if course.spent:
            self.say(f"{course.runs} runs were made; --runs N allows more.")
        if course.interrupted:
            # Half of a repair is not what was asked for.
            self.say("Stopped; nothing was changed." + (" What was proven until then:\n" if course.new else ""))
            if course.new:
                click.echo(course.diff, nl=False)
            return 130
        if course.failing:
            self.say("The program would still fail, so nothing was changed. What was proven until then:\n")
            self.say(course.diff)
            return 1
        if not course.new:
            self.say("No remedy could be proven. Nothing was changed.")
            return 1
        if self.diff_only:
            click.echo(course.diff, nl=False)
        elif len([r for r in course.rounds if r.chosen]) > 1:
            self.say("All together:\n")
            self.say(course.diff)
        left = course.left
        if left:
            more = f" ({ROUNDS} rounds are the limit)" if len(course.rounds) >= ROUNDS else ""
            self.say("Still found: " + ", ".join(f"{f.cause} at {f.failed}" for f in left) + more)
        if not write:
            self.say("Nothing was changed; --write applies the patch.")
            return 0
        return self._write(course, command)

    def _write(self, course: Repair, command: Command) -> int:
        try:
            files = write_files(course, command)
        except Refused as reason:
            click.echo(f"secondpass fix: {reason}. Nothing was written; the patch:\n", err=True)
            if not self.diff_only:
                click.echo(course.diff, nl=False)
            return 1
        self.say(f"Wrote {', '.join(files)}. `secondpass fix --undo` takes it back ({UNDO}).")
        return 0

    def _nothing(self, course: Repair) -> int:
        first = course.first
        if first.outcome == "timeout":
            self.say(
                f"The program was still running when its time was up, after {first.passes} passes; nothing found yet."
            )
            self.say("--until N stops it after N passes and reports; --timeout S gives it more time.")
            return 1
        if first.outcome == "unwatched":
            self.say(f"The program could not be watched: {first.last_words}{first.where}")
            return 1
        if first.outcome == "failed":
            self.say(f"The program fails, but not because of its graph: {first.last_words}{first.where}")
            if hint := without_torch():
                self.say(hint)
            if "EOFError" in first.stderr:
                self.say(
                    "It reads from standard input, which is empty here: give it its input by a file or an argument."
                )
            return 1
        self.say(f"Nothing to repair: {first.passes} passes, no finding.")
        return 0

    def _round(self, number: int, one: Round) -> None:
        finding = one.finding
        self.say(
            f"Round {number}: {finding.code} {finding.cause}" + (f" at {finding.failed}" if finding.failed else "")
        )
        self.tell(f"  {finding.message}", 2)
        if not one.tried:
            self.say("  no remedy could be written as a patch")
            self._by_hand(finding)
            return
        for verdict in one.tried:
            mark = "->" if verdict is one.chosen else "  "
            self.tell(f"{mark} {verdict.remedy.kind}: {verdict.remedy.title}", 5)
            self.tell(f"     {verdict.proof.status}: {verdict.proof.detail}", 5)
            if verdict.proof.status == "not run" and one.chosen is None:
                self.say(f"\n{verdict.remedy.diff}")
        if one.chosen is None:
            self._by_hand(finding)
        if one.chosen:
            remedy = one.chosen.remedy
            self.say(f"\n{remedy.diff}")
            self.tell(f"{'safe' if remedy.safe else 'look at it'}: {remedy.why}")
            self.say()

    def _by_hand(self, finding: Finding) -> None:
        """What would be right, for whoever writes it: the best kind, and no weaker one."""
        for way in finding.remedies[:1]:
            at = f" ({way.place})" if way.place else ""
            self.tell(f"  by hand: {way.title}{at}", 5)
            if way.why:
                self.tell(f"     {way.why}", 5)
            lines = {"built": finding.built, "freed": finding.freed, "used": finding.used or finding.failed}
            seen = [f"{word} at {place}" for word, place in lines.items() if place and place != way.place]
            if seen:
                self.tell(f"     the lines: {', '.join(seen)}", 5)
        self.say()

    def begin(self, command: Command, options: Options) -> None:
        """Before anything runs: what will be run, where, how often, and for how long at most."""
        if self.live and not self.diff_only:
            click.echo(
                f"Runs {command.program} in copies of {command.root}: as it is, then with one remedy after the other; "
                f"at most {options.runs} runs of {options.timeout:.0f} s each. Nothing is changed without --write.",
                err=True,
            )

    def _json(self, course: Repair, command: Command, file: str) -> None:
        first = course.first.report or Report()
        reported = tuple(r.reported for r in course.rounds)
        known = {id(r.finding) for r in course.rounds}
        rest = tuple(f for f in course.last.findings if id(f) not in known)
        report = Report(
            findings=(*reported, *rest),
            tool=first.tool,
            program={
                "argv": [command.program, *command.arguments],
                "exit": course.last.exit,
                "fixed": bool(course.new) and not course.failing,
            },
            passes={"count": course.last.passes},
        )
        Path(file).write_text(report.to_json() + "\n", encoding="utf-8")


def write_files(course: Repair, command: Command) -> list[str]:
    """Applies the patch below the working directory."""
    paths = write(command.cwd, course.old, course.new)
    return [p.relative_to(command.cwd.resolve()).as_posix() for p in paths]
