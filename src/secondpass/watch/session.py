# SPDX-License-Identifier: BSD-3-Clause
"""One watch from beginning to end: failures are explained as they happen, silent faults when it ends."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import torch

from .. import __version__
from ..causes import diagnose
from ..record import Finding, Report, Trace
from .events import PassNote
from .failure import Failed, Graph
from .lines import Log
from .trace import build
from .watcher import Watcher

__all__ = ["Session"]

_SILENT = "SP4"


class Session:
    """What `install`, `watch` and `secondpass run` have in common."""

    def __init__(self, root: Path | None = None, log: Log | None = None) -> None:
        self.watcher = Watcher(root, log)
        self.watcher.on_failure = self._explain
        self.watcher.on_pass = self._went_on
        self.failed: list[Finding] = []
        self.silent: list[Finding] = []
        self._last: BaseException | None = None
        self._unanswered = 0

    def start(self) -> None:
        if self.watcher.log is not None:
            self.watcher.log.listen(torch.autograd._get_sequence_nr)  # type: ignore[attr-defined]
        self.watcher.start()

    def stop(self) -> None:
        self.watcher.stop()

    # -- failures ----------------------------------------------------------------------------------------------------

    def _explain(self, failed: Failed, error: BaseException) -> None:
        """Adds the explanation to the user's exception. Everything that refers to his objects ends with this call."""
        try:
            if failed.kind == "other":
                return
            graph = Graph(failed, self.watcher)
            trace = build(self.watcher, graph)
            self.watcher.failures.append(trace.failures[-1])
            del graph
            found = [f for f in diagnose(trace) if f.severity == "error"]
            self._attach(found, trace, error)
            self.failed += found
            self._unanswered = len(found)
        finally:
            failed.outputs, failed.inputs, failed.frame = [], [], None  # type: ignore[assignment]

    def _attach(self, found: list[Finding], trace: Trace, error: BaseException) -> None:
        for k, finding in enumerate(found):
            found[k] = finding = with_edits(finding, trace.sources)
            text = _note(finding, trace.sources)
            if text and hasattr(error, "add_note"):
                error.add_note(text)

    def _went_on(self, note: PassNote, outputs: Any) -> None:
        """A pass begins after one that failed: the program has caught the error."""
        self._unanswered = 0

    def raised(self, error: BaseException) -> None:
        """The program ends with an exception: one that a pass raised, or one that touched a graph by itself."""

    def unsaid(self) -> list[Finding]:
        """The findings that no exception of the user's has shown."""
        return self.silent

    # -- the end -----------------------------------------------------------------------------------------------------

    def finish(self, *, ended: bool) -> None:
        """Looks for what went wrong in silence; a program that failed is told of its failure only."""
        if self.watcher.asleep or (not ended and self.failed):
            return
        self.watcher._guarded(self._finish, ended)

    def _finish(self, ended: bool) -> None:
        trace = build(self.watcher, ended=ended)
        found = [f for f in diagnose(trace) if f.code.startswith(_SILENT) or f.code == "SP110"]
        self.silent = [with_edits(f, trace.sources) for f in found]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything found so far."""
        return (*self.failed, *self.silent)

    def report(self, program: dict[str, Any] | None = None) -> Report:
        """The findings with what they rest on."""
        return Report(
            findings=self.findings,
            tool={"name": "secondpass", "version": __version__, "torch": torch.__version__, "python": platform.python_version()},
            program=program or {"pid": os.getpid()},
            passes={"count": self.watcher.ledger.passes, "steps": self.watcher.ledger.steps},
        )


def with_edits(finding: Finding, sources: dict[str, str]) -> Finding:
    """The finding with its remedies as edits, where the parts that work them out are installed."""
    try:
        from ..remedies import attach

        return attach(finding, sources=dict(sources))
    except Exception:
        return finding


def _note(finding: Finding, sources: dict[str, str]) -> str:
    try:
        from ..render import note

        return note(finding, sources=sources)
    except Exception:
        return f"secondpass: {finding.message}"
