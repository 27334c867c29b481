# SPDX-License-Identifier: BSD-3-Clause
"""One watch from beginning to end: failures are explained as they happen, silent faults when it ends."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from .._version import __version__
from ..causes import diagnose
from ..causes.swallowed_error import swallowed
from ..record import Finding, Place, Report, Trace
from ..source import close_long_files
from ..torchgraph import touchable
from ..watcher.access import Access
from ..watcher.failure import Failed, Graph
from ..watcher.ledger import PassNote
from ..watcher.log import Log
from ..watcher.looks import LookTime
from ..watcher.mark_running import Live
from ..watcher.rank import rank, world
from ..watcher.reducers import Refused
from ..watcher.trace import build
from ..watcher.watcher import Watcher
from .ranks import Ranks, run_folder, spelled

__all__ = ["Session", "note_of", "tool", "with_edits"]

_EXPLAINED = 20
_TRIES = 16
_HURRIED = 100_000
_EDITING = 3.0
"""Seconds for the edits of what is told at the end: whoever caught a dozen failures in a file of ten thousand lines waits for
the end of the program, and the first edits tell enough."""


def tool() -> dict[str, Any]:
    """What a report was made with."""
    python = platform.python_version()
    return {"name": "secondpass", "version": __version__, "torch": torch.__version__, "python": python}


class _Hurried:
    """What many short watches share."""

    time = LookTime(shared=True)


class _Told:
    """A finding that an exception's note tells of. Its edits are worked out when somebody reads them: that takes long, and
    the program may catch the exception and go on."""

    def __init__(self, finding: Finding, sources: dict[str, str], note: str) -> None:
        self.finding, self.sources, self.note = finding, sources, note

    @cached_property
    def whole(self) -> Finding:
        return with_edits(self.finding, self.sources)


class Session:
    """What `install`, `watch` and `secondpass run` have in common."""

    def __init__(self, root: Path | None = None, log: Log | None = None, *, lines: bool = False) -> None:
        self.watcher = Watcher(root, log)
        self._lines = lines and log is None
        """Whether to mark the functions of the running program."""
        self._live: Live | None = None
        self._hurry = False
        self._editing = 0.0
        """Seconds that edits took at the end."""
        self.watcher.on_failure = self._explain
        self.watcher.on_refusal = self._refused
        self.watcher.on_pass = self._went_on
        self.silent: list[Finding] = []
        self.on_trace: Callable[[Trace], None] = lambda trace: None
        """Hears of every trace that is judged."""
        self._explained: set[int] = set()
        self._open: list[_Told] = []
        """What the last failed pass gave, until it shows whether the program caught the error."""
        self._read: tuple[int, tuple[_Told, ...]] | None = None
        """The last exception that somebody has read, by identity, and what it was told."""
        self._shown: list[_Told] = []
        """What somebody has shown, and gone on."""
        self._swallowed: dict[Place | None, tuple[_Told, int]] = {}
        """What the program caught, by the place of the failing pass: the first finding there, and how many followed."""

        self.ranks: Ranks | None = None
        """The ranks that this process is one of, where it is; see `share`."""
        self._retold: dict[str, Finding | None] = {}
        """Notes that say what several ranks have found."""
        self.merged: tuple[Finding, ...] | None = None
        """What all ranks have found, where this one has told it."""
        self._tries = 0
        """At how many of the next passes to ask whether there are ranks."""
        self._sharing = False
        self._folder: Path | None = None

    def __repr__(self) -> str:
        passes = self.watcher.ledger.passes
        found = ", ".join(dict.fromkeys(f.code for f in (*(one.finding for one in self._shown), *self.silent)))
        return f"<Session: {passes} pass{'' if passes == 1 else 'es'}{f', found {found}' if found else ''}>"

    def share(self, folder: Path | None = None) -> None:
        """If this process turns out to be one of several ranks, they tell together what they have found: see `ranks`."""
        self._sharing, self._tries, self._folder = True, _TRIES, folder

    def hurry(self) -> None:
        """This is one of many short watches, those of a suite of tests: they look at passes within one time for all of them,
        and leave out the edits of long files, which take seconds to read for that."""
        self._hurry, self.watcher.looks.time = True, _Hurried.time

    def start(self) -> None:
        if self._lines and self._live is None:
            self.watcher.guarded(self._mark)
        if self.watcher.log is not None:
            self.watcher.log.listen(torch.autograd._get_sequence_nr)  # type: ignore[attr-defined]
        self.watcher.start()

    def _mark(self) -> None:
        self._live = Live.begin()
        if self._live is not None:
            self._lines = self._live.watches == 1  # else somebody has seen to it
            self.watcher.log, self.watcher.ledger.places = self._live.log, self.watcher.files.places

    def stop(self) -> None:
        self.watcher.stop()
        live, self._live = self._live, None
        if live is not None:
            self.watcher.guarded(live.end)

    # -- failures ----------------------------------------------------------------------------------------------------

    def _explain(self, failed: Failed, error: BaseException) -> None:
        """Adds the explanation to the user's exception. Everything that refers to his objects ends with this call."""
        try:
            # What was overwritten is told at the end, by the whole traceback.
            if failed.kind in ("other", "overwritten-output") or id(error) in self._explained:
                return None
            before = [n for n in self.watcher.ledger.pass_notes() if n is not failed.note][-1:]
            if before and before[0].outcome == "failed" and failed.note.roots and before[0].roots == failed.note.roots:
                return None  # the same loss once more: a retry, whose own failure says nothing new
            if sum(times for _, times in self._swallowed.values()) >= _EXPLAINED:
                return self._again(failed)
            graph = Graph(failed, self.watcher)
            too_deep = graph.failing is None and len(graph.nodes) >= touchable()
            self._conclude(build(self.watcher, graph), error)
            del graph
            if too_deep and not self._open and hasattr(error, "add_note"):
                error.add_note(
                    f"\nsecondpass: the graph of this pass has more than {touchable():,} nodes, more than can be looked at without "
                    "harm;\nrun it with shorter sequences (or fewer steps) to see what was reused."
                )
        finally:
            failed.outputs, failed.inputs, failed.frame = [], [], None  # type: ignore[assignment]

    def _refused(self, refused: Refused, error: BaseException) -> None:
        """A forward that cannot begin because of what the pass before it left open."""
        if id(error) not in self._explained:
            self._conclude(build(self.watcher, refused), error)  # type: ignore[arg-type]

    def _conclude(self, trace: Trace, error: BaseException) -> None:
        self.on_trace(trace)
        self._explained, self._open = {id(error)}, []
        for finding in (f for f in diagnose(trace) if f.severity == "error"):
            text = note_of(finding, trace.sources)
            # Watches may lie in one another (a callback's in `secondpass run`): the innermost has said it, and best.
            said = any(finding.code in note for note in getattr(error, "__notes__", ()))
            self._open.append(_Told(finding, trace.sources, "" if said else text))
            if text and not said and hasattr(error, "add_note"):
                error.add_note(text)
        close_long_files()

    def complete(self, error: BaseException | None) -> None:
        """Somebody is going to read the notes of an exception: they get their edits."""
        notes = getattr(error, "__notes__", [])
        for told in self._open if id(error) in self._explained else ():
            if told.note and told.note in notes:
                at, told.note = notes.index(told.note), note_of(told.whole, told.sources)
                notes[at] = told.note

    def read(self, error: BaseException) -> None:
        """Somebody has read an exception, and the session goes on (a notebook): nothing has swallowed it."""
        if id(error) in self._explained:
            self._read = id(error), tuple(self._open)
            self._open, self._explained = [], set()

    def report_of(self, error: BaseException | None) -> Report | None:
        """What this watch has seen of an exception, if it has."""
        if id(error) in self._explained:
            told = tuple(self._open)
        elif self._read is not None and self._read[0] == id(error):
            told = self._read[1]
        else:
            return None
        notes = getattr(error, "__notes__", [])
        if not any(t.note in notes for t in told if t.note):  # another exception that has come to lie in the same place
            return None
        return replace(self.report(), findings=tuple(t.whole for t in told))

    def notes(self, error: BaseException) -> list[str]:
        """The notes of this watch on an exception."""
        if id(error) not in self._explained:
            return []
        ours = {*self._retold, *(told.note for told in self._open)}
        return [note for note in getattr(error, "__notes__", []) if note in ours]

    def painted(self, error: BaseException) -> dict[str, str]:
        """The notes of this watch on an exception, each with the same in colour."""
        from ..render import painted

        notes = getattr(error, "__notes__", [])
        open_ = self._open if id(error) in self._explained else ()
        found = {t.note: painted(t.whole, sources=t.sources) for t in open_ if t.note and t.note in notes}
        return found | {
            note: painted(f, sources={}) for note, f in self._retold.items() if f is not None and note in notes
        }

    def _again(self, failed: Failed) -> None:
        """A program that catches the error at every step: counting is enough."""
        place = self.watcher.files.places(failed.note.key)[:1]
        for key, (told, times) in self._swallowed.items():
            if (key,) == place:
                self._swallowed[key] = (told, times + 1)

    def _went_on(self, note: PassNote | None = None, *_: Any) -> None:
        """A pass begins after one that failed, or the program ends well: it has caught the error."""
        if self._tries:
            self._tries -= 1
            self._join()
        if self._lines and note is not None:
            # By its first pass a program has defined what it trains with.
            self._lines = False
            if self._live is not None:
                self.watcher.guarded(self._live.mark)
        if not self._explained:
            return  # nothing has failed since: this is on every pass's way
        for told in self._open:
            first, times = self._swallowed.get(told.finding.failed, (told, 0))
            self._swallowed[told.finding.failed] = (first, times + 1)
        # The error is gone, and the next one may have its address.
        self._open, self._explained = [], set()

    def raised(self, error: BaseException, show: Callable[[], None] | None = None, *, each: bool = False) -> None:
        """The program ends with an exception: one that a pass raised, or one that touched a graph by itself.

        `show` shows it to the user: once its notes say what all ranks have found, where there are several, and while the
        others wait. With `each`, every rank says all of it: where only one of them is heard.
        """
        if id(error) not in self._explained and Access.fits(error):
            self.watcher.guarded(self._accessed, error)
        elif id(error) not in self._explained and not self.watcher.asleep:
            self.watcher.guarded(self._observed_at_the_end, error)
        shown: list[bool] = []

        def tell(found: list[Finding]) -> None:
            self.merged = tuple(found)
            self._renew(error, {note_of(f, {}): f for f in found})
            if show is not None and not shown:
                shown.append(True)
                show()

        if not isinstance(error, KeyboardInterrupt):
            self.watcher.guarded(self._raised_among, error, tell, each)
        self.watcher.guarded(self.complete, error)
        if show is not None and not shown:
            show()

    def _raised_among(self, error: BaseException, tell: Callable[[list[Finding]], None], each: bool) -> None:
        ranks = self._join()
        if ranks is None:
            return
        text = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        mine: tuple[Finding, ...] = ()
        if id(error) in self._explained:
            ranks.fails(text)
            self.complete(error)
            mine = tuple(told.whole for told in self._open)
        ranks.settle(mine, text, tell)
        if self.merged is not None:
            return
        if each and (mine or ranks.others_failed()):
            self._renew(error, {note_of(f, {}): f for _, f in ranks.merge()})
        elif mine:
            self._renew(error, {f"\nsecondpass: {f.code} {f.cause}, explained by another rank": None for f in mine})
        elif hasattr(error, "add_note"):
            for rank, first in ranks.others_failed()[:1]:
                where = f" at {first.failed.where}" if first.failed is not None else ""
                error.add_note(f"\nsecondpass: rank {rank} failed first: {first.code} {first.cause}{where}")
            if gone := ranks.gone():
                who = f"ranks {spelled(gone)} are" if len(gone) > 1 else f"rank {gone[0]} is"
                error.add_note(f"\nsecondpass: {who} gone: killed, or dead without a word")

    def _renew(self, error: BaseException, notes: dict[str, Finding | None]) -> None:
        """Other notes of ours, in the place of those that this rank has made by itself."""
        own = {told.note for told in self._open if told.note}
        if hasattr(error, "add_note"):
            kept = [n for n in getattr(error, "__notes__", []) if n not in own]
            error.__notes__ = kept
            for text in notes:
                error.add_note(text)
        for told in self._open:
            told.note = ""
        self._retold = notes

    def _join(self) -> Ranks | None:
        if self.ranks is not None and self.ranks.pid != os.getpid():
            self.ranks = None  # a fork is a rank of its own
        if self.ranks is None and self._sharing and (number := rank()) is not None and (world() or 1) > 1:
            self._tries = 0
            ranks = Ranks(number, world() or 1, self._folder or run_folder())
            self.ranks = ranks if ranks.join() else None
        return self.ranks

    def shown(self, error: BaseException) -> None:
        """Somebody shows an exception and goes on, as test runners and notebooks do: nobody has swallowed it."""
        self.raised(error)
        if id(error) in self._explained:
            self._shown = [*self._shown, *self._open][-_EXPLAINED:]
            self._open, self._explained = [], set()

    def expected(self) -> None:
        """A test has passed: the errors that it caught are what it asked for (`pytest.raises`), and no steps were lost."""
        self._open, self._explained, self._swallowed = [], set(), {}

    def _accessed(self, error: BaseException) -> None:
        access = Access(self.watcher, error)
        trace = build(self.watcher, access)  # type: ignore[arg-type]
        if access.name:
            failure = replace(trace.failures[-1], names=(access.name,))
            trace = replace(trace, failures=(*trace.failures[:-1], failure))
        self._conclude(trace, error)

    def _observed_at_the_end(self, error: BaseException) -> None:
        from ..see.out_of_memory import is_out_of_memory, out_of_memory
        from ..watcher.overwritten import is_overwritten, overwritten

        if is_out_of_memory(error):
            self._conclude(out_of_memory(self.watcher, error), error)
        elif is_overwritten(error):
            self._conclude(overwritten(self.watcher, error), error)

    def tell(self, *, quiet: bool = False) -> None:
        """Says on stderr what no exception of the user's has shown; among ranks, one of them does."""
        findings = (*self._lost(), *self.silent)
        ranks = self._join() if not self._open else None
        if ranks is None:
            self._print(() if quiet else findings)
            return

        def tell(found: list[Finding]) -> None:
            self.merged = tuple(found)
            self._print(() if quiet else self.merged)

        ranks.settle(findings, "", tell)

    def _print(self, findings: tuple[Finding, ...]) -> None:
        if findings:
            from ..render import color_for, width_for
            from ..render.text import render

            text = render(Report(findings=findings), color=color_for(sys.stderr), width=width_for(sys.stderr))
            sys.stdout.flush()
            print("\n" + text, end="", file=sys.stderr)

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, *, ended: bool) -> None:
        """Looks for what went wrong in silence; a program that failed is told of its failure only."""
        self.watcher.guarded(self._finish, ended)

    def _finish(self, ended: bool) -> None:
        if ended:
            self._went_on()
        if self.watcher.asleep or self._open or (self._explained and not ended):
            return
        if self._swallowed:
            return  # what else there is to see comes from the steps that were lost
        trace = build(self.watcher, ended=ended)
        self.on_trace(trace)
        silent = [_Told(f, trace.sources, "") for f in diagnose(trace) if f.severity == "warning"]
        self.silent = [self._with_edits(told) for told in silent]
        close_long_files()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found so far."""
        return (*(told.whole for told in (*self._shown, *self._open)), *self._lost(), *self.silent)

    def _lost(self) -> list[Finding]:
        return [swallowed(self._with_edits(told), times) for told, times in self._swallowed.values()]

    def _with_edits(self, told: _Told) -> Finding:
        if self._editing > _EDITING and "whole" not in told.__dict__:
            return told.finding
        places = (told.finding.failed, told.finding.built, told.finding.freed)
        if self._hurry and any(len(told.sources.get(p.file, "")) > _HURRIED for p in places if p is not None):
            return told.finding
        began = time.thread_time()
        found = told.whole
        self._editing += time.thread_time() - began
        return found

    def report(self, program: dict[str, Any] | None = None) -> Report:
        """The findings with what they rest on."""
        return Report(
            findings=self.findings,
            tool=tool(),
            program=program or {"pid": os.getpid()},
            passes={"count": self.watcher.ledger.passes, "steps": self.watcher.ledger.steps, "sites": self._sites()},
        )

    def _sites(self) -> list[dict[str, Any]]:
        """Where passes were made, and how often: `check --with` weighs its findings by it."""
        found: dict[tuple[str, int], int] = {}
        for site in list(dict.fromkeys(self.watcher.ledger.pass_sites.values()))[:1000]:
            for place in self.watcher.files.places(site.key)[:1]:
                found[place.file, place.line] = found.get((place.file, place.line), 0) + site.count
        return [{"file": file, "line": line, "count": count} for (file, line), count in found.items()]


def with_edits(finding: Finding, sources: dict[str, str]) -> Finding:
    """The finding with its remedies as edits, where the parts that work them out are installed.

    Where history was reused but it is not known where it was built (inside a framework's own loop, say), no line can be
    pointed at for sure: then there is advice, and no edit.
    """
    if finding.code.startswith("SP1") and finding.severity == "error" and finding.built is None:
        return finding
    try:
        from ..remedies import attach

        return attach(finding, sources=dict(sources))
    except Exception:
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        return finding


def note_of(finding: Finding, sources: dict[str, str]) -> str:
    try:
        from ..render import note

        return note(finding, sources=sources)
    except Exception:
        if os.environ.get("SECONDPASS_DEBUG"):
            raise
        return f"secondpass: {finding.message}"
