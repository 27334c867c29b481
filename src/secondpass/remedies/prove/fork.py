# SPDX-License-Identifier: BSD-3-Clause
"""Starting `secondpass run`: in a fresh process, or forked from one that has torch imported already.

NOTE [ When a program may be started warm ]
1. It has not touched the environment before it imported torch: what torch reads there it would read too late.
2. Nothing in its folder has the name of a module that is already imported.
3. The process it is forked from has one thread.
Otherwise every run is a fresh process, as the first one is.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Starter", "starter"]

_SERVER = (
    "import sys\n"
    "if not sys.flags.safe_path: sys.path[0] = sys.executable\n"
    "from secondpass.commands._fork_server import serve\n"
    "serve()"
)
_POLL = 1.0


class Starter:
    """Runs `secondpass` with some words and waits for it."""

    def __init__(self, server: subprocess.Popen[bytes] | None = None) -> None:
        self.server = server
        self.warm: bool | None = None
        """Whether programs may be started warm; None until a first run has shown it."""
        self._buffer = b""
        self._ready: dict[str, Any] | None = None

    def settle(self, untouched: bool, folders: tuple[Path, ...]) -> None:
        """Says once what is known of the program: see NOTE [ When a program may be started warm ]."""
        if self.warm is None:
            self.warm = False
            if self.server is not None and untouched:
                self._ready = self._ready or self._answer(60.0)
                if self._ready and self._ready["ready"]:
                    names = set(self._ready["modules"])
                    own = {entry.partition(".")[0] for f in folders if f.is_dir() for entry in os.listdir(f)}
                    self.warm = not names & own
            if not self.warm:
                self.close()

    def __call__(
        self,
        words: list[str],
        cwd: Path,
        env: dict[str, str],
        timeout: float,
        tick: Callable[[], None],
    ) -> tuple[str, int, str]:
        """Waits for the program, its output dropped; nothing stands on its standard input.

        Gives `ended` or `timeout`, the exit status, and what went to standard error.
        """
        with tempfile.TemporaryDirectory(prefix="secondpass-") as folder:
            errors = Path(folder, "stderr")
            start = self._forked if self.warm else self._fresh
            outcome, status = start(words, cwd, env, errors, timeout, tick)
            return outcome, status, errors.read_bytes().decode("utf-8", "replace") if errors.exists() else ""

    def close(self) -> None:
        if self.server is not None:
            for stream in (self.server.stdin, self.server.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            if self.server.poll() is None:
                self.server.kill()
            self.server.wait()
        self.server = None

    # -- two ways ----------------------------------------------------------------------------------------------------

    @staticmethod
    def _fresh(
        words: list[str], cwd: Path, env: dict[str, str], errors: Path, timeout: float, tick: Callable[[], None]
    ) -> tuple[str, int]:
        call = [sys.executable, "-m", "secondpass", *words]
        with errors.open("wb") as file:
            process = subprocess.Popen(
                call, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file
            )
            began = time.monotonic()
            try:
                while True:
                    try:
                        return "ended", process.wait(_POLL)
                    except subprocess.TimeoutExpired:
                        if time.monotonic() - began > timeout:
                            return "timeout", -signal.SIGKILL
                        tick()
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def _forked(
        self, words: list[str], cwd: Path, env: dict[str, str], errors: Path, timeout: float, tick: Callable[[], None]
    ) -> tuple[str, int]:
        assert self.server is not None
        assert self.server.stdin is not None
        request = {"words": words, "cwd": str(cwd), "env": env, "stderr": str(errors)}
        try:
            self.server.stdin.write(json.dumps(request).encode() + b"\n")
            self.server.stdin.flush()
            child = self._answer(60.0)
        except OSError:
            child = None
        if child is None:
            # The server is gone or does not answer: a fresh process does as well.
            self.warm = False
            self.close()
            return self._fresh(words, cwd, env, errors, timeout, tick)
        began = time.monotonic()
        ended: dict[str, Any] | None = None
        try:
            while True:
                ended = self._answer(_POLL)
                if ended is not None:
                    return "ended", int(ended["status"])
                if self.server.poll() is not None or time.monotonic() - began > timeout:
                    return "timeout", -signal.SIGKILL
                tick()
        finally:
            if ended is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child["pid"], signal.SIGKILL)
                self._answer(10.0)

    def _answer(self, timeout: float) -> dict[str, Any] | None:
        """The server's next line, or None where none comes in time."""
        assert self.server is not None
        assert self.server.stdout is not None
        handle, end = self.server.stdout.fileno(), time.monotonic() + timeout
        while b"\n" not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([handle], [], [], left)[0]:
                return None
            more = os.read(handle, 1 << 16)
            if not more:
                return None
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def starter() -> Iterator[Starter]:
    """A starter whose server is getting ready while the first run goes on."""
    server = None
    if hasattr(os, "fork"):
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    made = Starter(server)
    try:
        yield made
    finally:
        made.close()
