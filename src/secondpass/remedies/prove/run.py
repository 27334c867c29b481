# SPDX-License-Identifier: BSD-3-Clause
"""Running the user's program in a fresh process, as it is or with changed files."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...record import Finding, Report
from ..edit.write import encode
from .fork import Starter

__all__ = ["Command", "Run", "mirror", "run"]

_SKIPPED = {
    ".git", ".hg", ".venv", "venv", "__pycache__", "node_modules", ".mypy_cache", ".pytest_cache", ".tox", "wandb",
    "mlruns",
}  # fmt: skip
_SMALL = 1_000_000
_SETTLE = 30.0
"""A program that is past what must be proven runs on for so many seconds: short ones come to their end."""


@dataclass(frozen=True)
class Command:
    """What the user would run."""

    program: str
    arguments: tuple[str, ...] = ()
    module: bool = False
    cwd: Path = field(default_factory=Path.cwd)
    pristine: Path | None = None
    """A copy of the root that was taken before anything ran."""
    starter: Starter | None = None

    @property
    def root(self) -> Path:
        """The folder that holds the program: the working directory, or the program's own where it lies elsewhere."""
        if self.module:
            return self.cwd.resolve()
        file = (self.cwd / self.program).resolve()
        return self.cwd.resolve() if file.is_relative_to(self.cwd.resolve()) else file.parent

    @property
    def file(self) -> str:
        """The program as places name it, or "" where it is a module or lies elsewhere."""
        file = (self.cwd / self.program).resolve()
        inside = not self.module and file.is_relative_to(self.cwd.resolve())
        return file.relative_to(self.cwd.resolve()).as_posix() if inside else ""


@dataclass
class Run:
    """What came of one run."""

    outcome: str
    """`ended`, `failed`, `stopped` (had enough passes), `timeout`, `unwatched` (no report came)."""
    exit: int = 0
    findings: tuple[Finding, ...] = ()
    lines: tuple[dict[str, Any], ...] = ()
    stderr: str = ""
    report: Report | None = None
    where: str = ""
    """The user's line in which it failed, in brackets."""

    @property
    def passes(self) -> int:
        return sum(1 for line in self.lines if line["what"] == "pass")

    @property
    def steps(self) -> int:
        return sum(1 for line in self.lines if line["what"] == "step")

    @property
    def environment_untouched(self) -> bool:
        """Whether the program had left the environment as it was when it imported torch."""
        return any(line["what"] == "torch" and not line["environment"] for line in self.lines)

    @property
    def digests(self) -> list[str]:
        return [line["digest"] for line in self.lines if line["what"] == "pass" and "digest" in line]

    @property
    def gradients(self) -> list[list[float]]:
        return [line["sums"] for line in self.lines if line["what"] == "step" and "sums" in line]

    @property
    def untouched(self) -> int:
        """Passes made before the first changed line was executed."""
        return next((line["before"] - 1 for line in self.lines if line["what"] == "edited"), self.passes)

    @property
    def edited(self) -> bool:
        """Whether a changed line was seen to run."""
        return any(line["what"] == "edited" for line in self.lines)

    @property
    def error(self) -> Finding | None:
        return next((f for f in self.findings if f.severity == "error" and f.cause != "swallowed-error"), None)

    @property
    def last_words(self) -> str:
        lines = [
            line for line in self.stderr.strip().splitlines() if line.strip() and not line.startswith("secondpass:")
        ]
        told = [line for line in lines if not line.startswith(" ")]
        return (told or lines or [f"exit status {self.exit}"])[-1][:200]


def _where(stderr: str, root: Path) -> str:
    """The last of the user's lines in a traceback, as ` (main.py:3)`."""
    found = ""
    for file, line in re.findall(r'^  File "(.+?)", line (\d+)', stderr, re.MULTILINE):
        path = Path(file)
        if path.is_relative_to(root):
            found = f" ({path.relative_to(root)}:{line})"
    return found


def run(
    command: Command,
    *,
    root: Path | None = None,
    edited: tuple[str, ...] = (),
    until: int = 0,
    enough: int = 0,
    timeout: float = 600.0,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """Runs the program under watch.

    :param root: a mirror of the program's folder to run in, in place of the folder itself
    :param edited: `file:line` to look out for
    :param until: stop after so many passes
    :param enough: stop after so many passes once some time has passed
    :param progress: called with the number of passes, about every second
    """
    with tempfile.TemporaryDirectory(prefix="secondpass-") as folder:
        out, lines = Path(folder, "report.json"), Path(folder, "lines")
        env = {
            **os.environ,
            "PYTHONDONTWRITEBYTECODE": "1",
            "SECONDPASS_PROOF": str(lines),
            "SECONDPASS_PROOF_LINES": ";".join(edited),
            "SECONDPASS_PROOF_UNTIL": str(until),
            "SECONDPASS_PROOF_ENOUGH": f"{enough}:{_SETTLE}",
        }
        cwd, program = _placed(command, root)
        flags = ["-m"] if command.module else []
        words = ["run", "--quiet", "--json", str(out), *flags, "--", program, *command.arguments]

        def tick() -> None:
            if progress is not None:
                progress(_count(lines))

        outcome, status, stderr = (command.starter or Starter())(words, cwd, env, timeout, tick)
        text = out.read_text(encoding="utf-8") if out.exists() else ""
        seen = lines.read_text(encoding="utf-8").splitlines() if lines.exists() else []
    if root is not None:
        text = text.replace(str(root), str(command.root))
        stderr = stderr.replace(str(root), str(command.root))
    try:
        report = Report.from_json(text)
    except ValueError:
        report = None
    found = Run(outcome, status, report.findings if report else (), _parsed(seen), stderr, report)
    found.where = _where(stderr, command.root)
    if outcome == "ended":
        stopped = any(line["what"] == "stopped" for line in found.lines)
        found.outcome = (
            "unwatched" if report is None else "stopped" if stopped else "ended" if status == 0 else "failed"
        )
    return found


def _parsed(lines: list[str]) -> tuple[dict[str, Any], ...]:
    out = []
    for line in lines:
        try:
            out.append(json.loads(line))
        except ValueError:  # the process was killed while it wrote
            break
    return tuple(out)


def _placed(command: Command, root: Path | None) -> tuple[Path, str]:
    """Where to run and what, for a mirror of the folder."""
    if root is None:
        return command.cwd, command.program
    cwd = command.cwd.resolve()
    inner = root / cwd.relative_to(command.root) if cwd.is_relative_to(command.root) else cwd
    if command.module:
        return inner, command.program
    file = (command.cwd / command.program).resolve()
    absolute = Path(command.program).is_absolute() or not cwd.is_relative_to(command.root)
    return inner, str(root / file.relative_to(command.root)) if absolute else command.program


def _count(lines: Path) -> int:
    try:
        return lines.read_bytes().count(b'"pass"')
    except OSError:
        return 0


@contextmanager
def mirror(command: Command, changed: dict[str, str]) -> Iterator[Path]:
    """A copy of a program's folder with some files changed. Small files are copied, large ones are linked."""
    root, source = command.root, command.pristine or command.root
    with tempfile.TemporaryDirectory(prefix="secondpass-") as folder:
        top = Path(folder).resolve() / root.name
        _copy(source, top)
        for file, text in changed.items():
            relative = Path(file).resolve().relative_to(root) if Path(file).is_absolute() else Path(file)
            (top / relative).write_bytes(encode(source / relative, text))
        yield top


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True)
    for entry in os.scandir(source):
        goal = target / entry.name
        if entry.name in _SKIPPED:
            continue
        if entry.is_dir(follow_symlinks=False):
            if _has_python(Path(entry.path)):
                _copy(Path(entry.path), goal)
            else:
                goal.symlink_to(Path(entry.path).resolve(), target_is_directory=True)
        elif entry.is_file(follow_symlinks=True) and (entry.name.endswith(".py") or entry.stat().st_size < _SMALL):
            shutil.copy2(entry.path, goal)
            goal.chmod(goal.stat().st_mode | 0o200)  # the original may be read-only; the copy is ours
        else:
            goal.symlink_to(Path(entry.path).resolve())


def _has_python(folder: Path) -> bool:
    """A folder of data is linked as a whole; one with code is copied, so that its files are the mirror's."""
    for _, folders, files in os.walk(folder):
        folders[:] = [f for f in folders if f not in _SKIPPED]
        if any(f.endswith(".py") for f in files):
            return True
    return False
