# SPDX-License-Identifier: BSD-3-Clause
"""Explaining an exception when nothing was armed: what its traceback and the dead graph still tell.

Known afterwards: the frames with their names, the root of the failed pass, every node behind it and whether its buffers
are gone. Not known: when a node was built, and which pass freed it. So the pass that freed is a guess (the failing call
itself, when it stands in a loop, or the call before it in the source), and it is marked as one.
"""

from __future__ import annotations

import linecache
import sys
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from ..causes import diagnose
from ..record import Finding, Report
from ..torchgraph import LEAF
from ..watcher.access import Access
from ..watcher.bindings import Seen, Snapshot, Trail
from ..watcher.failure import Failed, Graph, kind_of
from ..watcher.ledger import PassNote
from ..watcher.trace import build
from .session import Session, note_of, tool, with_edits
from .unwatched_pass import Guess

__all__ = ["explain", "last"]


def explain(error: BaseException | None = None, *, show: bool = True) -> Report:
    """Explains an exception: `error`, the one being handled, or the last one that was shown."""
    import secondpass.render as _  # noqa: F401  (with it a notebook can show the report)

    error = error or last()
    if error is None:
        raise ValueError("there is no exception to explain: call secondpass.explain() after one, or give it one")
    kind = kind_of(error)
    if kind == "other":
        report = Report(notes=(f"{type(error).__name__} is not about the life of a graph: nothing to explain.",))
    else:
        findings, sources = _findings(error, kind)
        report = Report(
            findings=tuple(findings),
            tool=tool(),
            program={"postmortem": True},
            notes=() if findings else ("the exception left too little behind to explain it",),
        )
        if show:
            for finding in findings:
                print(note_of(finding, sources), file=sys.stderr)
    if show:
        for text in report.notes:
            print(f"secondpass: {text}", file=sys.stderr)
    return report


def last() -> BaseException | None:
    """The exception that is being handled, or the last one that was shown."""
    return sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _findings(error: BaseException, kind: str) -> tuple[list[Finding], dict[str, str]]:
    watcher = Session().watcher
    frames = _user_frames(watcher, error.__traceback__)
    read = _by_reading(watcher, frames, kind)
    if read:
        sources = {p.file: "".join(linecache.getlines(p.file)) for f in read for p in (f.failed, f.built, f.freed) if p}
        return [with_edits(f, sources) for f in read], sources
    outputs, inputs, in_pass = _pass_of(error.__traceback__)
    if not in_pass:
        if not Access.fits(error):
            return [], {}
        trace = build(watcher, Access(watcher, error))  # type: ignore[arg-type]
    else:
        key = tuple((f.f_code.co_filename, line, f.f_code.co_qualname) for f, line in frames)
        guess = Guess(watcher, [f for f, _ in frames], key, outputs)
        before = PassNote(watcher.ledger.tick(), "backward", guess.earlier, 0, guess.border + 1, 0)
        before.roots = guess.roots
        if guess.name is not None:
            before.shot = Snapshot([Seen(Trail(guess.name[0], "local", "Tensor"), guess.name[1], True, "")])
        watcher.ledger.add(before)
        note = PassNote(watcher.ledger.tick(), "backward", key, 0, LEAF - 1, 0)
        note.outcome = "failed"
        note.roots = tuple(watcher.leaves.behind(o) for o in outputs)
        watcher.ledger.add(note)
        failed = Failed(note, outputs, (None, None, None, inputs), error, sys._getframe())
        failed.frames = [f for f, _ in frames]
        graph = Graph(failed, watcher)
        trace = build(watcher, graph)
    trace = replace(trace, producer="postmortem")
    found = [f for f in diagnose(trace) if f.severity == "error"]
    return [with_edits(_as_guess(f), trace.sources) for f in found], trace.sources


def _by_reading(watcher: Any, frames: list[tuple[Any, int]], kind: str) -> list[Finding]:
    """What reading the source finds at the very line that failed: better than a guess, where it finds anything."""
    files = {f.f_code.co_filename for f, _ in frames}
    if not files or any(not Path(f).is_file() for f in files):
        return []
    try:
        from ..check import Settings, read

        found = read(sorted(files), Settings(jobs=1, limit=5.0)).findings
    except Exception:
        return []
    here = {(watcher.files.show(f.f_code.co_filename), line) for f, line in frames}
    codes = {"inplace": ("SP2",), "no-grad": ("SP3", "SP109")}.get(kind, ("SP1",))
    fitting = [
        f
        for f in found
        if f.code.startswith(codes) and f.failed and (watcher.files.show(f.failed.file), f.failed.line) in here
    ]
    text = "nothing was watching: this is what reading the source says about the line that failed"
    return [
        replace(f, severity="error", sure=False, evidence=(*f.evidence, {"what": "note", "text": text}))
        for f in fitting[:1]
    ]


def _as_guess(finding: Finding) -> Finding:
    text = (
        "nothing was watching: which pass freed it, and what carried it, is a guess from the source and the dead graph"
    )
    return replace(finding, sure=False, evidence=(*finding.evidence, {"what": "note", "text": text}))


def _user_frames(watcher: Any, traceback: TracebackType | None) -> list[tuple[Any, int]]:
    found = []
    while traceback is not None:
        if watcher.files.mine(traceback.tb_frame.f_code):
            found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found[::-1]


def _pass_of(traceback: TracebackType | None) -> tuple[list[Any], list[Any], bool]:
    """The roots and inputs of the failed pass, from the frame of PyTorch's own function."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_name == "_engine_run_backward" and "t_outputs" in code.co_varnames:
            local = traceback.tb_frame.f_locals
            args: tuple[Any, ...] = local.get("args") or ()
            outputs = local.get("t_outputs") or ()
            return list(outputs), list(args[3]) if len(args) > 3 and args[3] else [], True
        traceback = traceback.tb_next
    return [], [], False
