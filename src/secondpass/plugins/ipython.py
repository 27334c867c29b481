# SPDX-License-Identifier: BSD-3-Clause
"""`%load_ext secondpass`: exceptions of cells are explained, and what went wrong in silence can be asked.

%secondpass     explains the last exception; where passes were made since, what was silently wrong in them
%%secondpass    runs the rest of the cell and says what was silently wrong in it
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import secondpass

from ..record import Finding, Place, Report
from ..render import text

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_MAGIC = "secondpass"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Watches from now on."""
    extension = _Extension(shell)
    register: Any = shell.register_magic_function  # IPython has it behind an untyped decorator
    register(extension.line, "line", _MAGIC)
    register(extension.cell, "cell", _MAGIC)
    shell.showtraceback = extension.showtraceback  # type: ignore[method-assign]


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Stops watching."""
    secondpass.uninstall()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(_MAGIC, None)
    vars(shell).pop("showtraceback", None)


class _Extension:
    """What one shell has of us."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.sessions: list[Any] = [secondpass.install()]
        """The watch over everything, and that over the cell that is running, if there is one."""
        self.plain = shell.showtraceback
        self.passes = 0
        """How many passes had been made when the last exception was shown."""

    def showtraceback(self, *args: Any, **kwargs: Any) -> Any:
        """Shows an exception, its explanation in colour where the shell has colours."""
        error = sys.exc_info()[1]
        if error is None:
            return self.plain(*args, **kwargs)
        notes = getattr(error, "__notes__", [])
        for session in reversed(self.sessions):
            session.raised(error)  # somebody reads it
        kept = list(notes)
        for session in self.sessions if self._colored() else ():
            for note, painted in session.painted(error).items():
                notes[notes.index(note)] = painted
        try:
            return self.plain(*args, **kwargs)
        finally:
            notes[: len(kept)] = kept
            for session in self.sessions:
                session.read(error)
            self.passes = self._seen()

    def line(self, line: str) -> None:
        """Explain the last exception, or what was silently wrong since."""
        if line.strip():
            from IPython.core.error import UsageError

            raise UsageError(
                f"%{_MAGIC} takes no arguments; %%{_MAGIC} runs the rest of a cell. (got {line.strip()!r})"
            )
        failed = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        if failed is not None and self._seen() == self.passes:
            report = secondpass.explain(failed, show=False)
        else:
            report = Report(findings=tuple(self._silent().values()))
        self._show(report, self._seen())

    def cell(self, line: str, cell: str) -> None:
        """Run a cell, and say what was silently wrong in it.

        The watch over everything is asked as well: it knows where the gradients and the history come from that were there before.
        """
        before = self._silent()
        with secondpass.watch(quiet=True) as session:
            self.sessions.append(session)
            try:
                done = self._run(cell)
            finally:
                self.sessions.remove(session)
        if done.success:
            found = {(f.code, f.failed): f for f in session.silent}
            found |= {key: f for key, f in self._silent().items() if key not in found and key not in before}
            self._show(Report(findings=tuple(found.values())), session.watcher.ledger.passes)

    def _silent(self) -> dict[tuple[str, Place | None], Finding]:
        session = self.sessions[0]
        session.finish(ended=False)
        return {(f.code, f.failed): f for f in session.silent}

    def _run(self, cell: str) -> Any:
        """Runs the rest of a cell under the cell's own number, its lines counted from the magic's."""
        shell, count = self.shell, self.shell.execution_count
        # From 9.18 on IPython counts when a cell begins, before that when it ends; what it has stored is the same.
        stored = len(shell.history_manager.input_hist_parsed) - 1
        if not cell.lstrip().startswith("%%"):  # else the next magic must come first
            cell = f"# %%{_MAGIC}\n{cell}"
        try:
            shell.execution_count = stored if stored > 0 else count
            return shell.run_cell(cell)
        finally:
            shell.execution_count = count

    def _show(self, report: Report, passes: int) -> None:
        shown = text.render(report, color=self._colored())
        print(
            shown or f"secondpass: nothing is wrong ({passes} pass{'' if passes == 1 else 'es'} seen)",
            end="" if shown else "\n",
        )

    def _seen(self) -> int:
        return int(self.sessions[0].watcher.ledger.passes)

    def _colored(self) -> bool:
        return str(self.shell.colors).lower() != "nocolor"
