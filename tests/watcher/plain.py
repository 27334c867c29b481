# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program as Python does and as `secondpass run` does, and makes the two comparable."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Both", "both", "run"]

_OURS = re.compile(r'  File "[^"]*[\\/]secondpass[\\/]watch[\\/]watcher\.py", line \d+, in .*\n(?:    .*\n)*')
_NOTE = re.compile(r"^secondpass: .*(?:\n(?!Traceback).*)*", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """How one run ended."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Both:
    """The same program, plain and watched."""

    plain: Run
    watched: Run

    def agree(self, *, err: bool = True) -> None:
        """Asserts that a user could not tell the two apart (but for one frame of ours in a failed pass)."""
        assert self.watched.out == self.plain.out, self.watched.err
        assert self.watched.status == self.plain.status, self.watched.err
        if err:
            assert _OURS.sub("", self.watched.err) == self.plain.err


def run(arguments: list[str], folder: Path, env: Mapping[str, str] | None = None, stdin: str = "") -> Run:
    """One Python process in a folder."""
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
        **(env or {}),
    }
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, input=stdin, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    return Run(done.returncode, done.stdout, done.stderr)


def both(
    folder: Path,
    program: str | list[str],
    *arguments: str,
    flags: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    stdin: str = "",
) -> Both:
    """Runs `program` (a file, or ["-m", module]) in both ways; `flags` are for Python, `options` for secondpass."""
    what = [program] if isinstance(program, str) else program
    return Both(
        run([*flags, *what, *arguments], folder, env, stdin),
        run([*flags, "-m", "secondpass", "run", *options, *what, *arguments], folder, env, stdin),
    )
