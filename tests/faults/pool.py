# SPDX-License-Identifier: BSD-3-Clause
"""Many programs at once: workers, each with a server for every kind of library that programs need."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from .program import Program

__all__ = ["Cache", "Pool", "Worker"]

ROOT = Path(__file__).parents[2]
LIMIT = 30.0
T = TypeVar("T")


class Cache:
    """Answers by what they depend on. Nothing is ever changed: another question has another name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, *parts: str, make: Callable[[], Any]) -> Any:
        name = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        path = self.folder / name[:2] / f"{name[2:22]}.json"
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            pass
        value = json.loads(json.dumps(make()))  # the first answer is what later ones will be
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        part.write_text(json.dumps(value), encoding="utf-8")
        part.replace(path)
        return value


class Worker:
    """Runs one program at a time."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="faults-"))
        self.servers: dict[str, subprocess.Popen[str]] = {}
        self.closed = False
        self.spent: Counter[str] = Counter()
        """Seconds of processor time by what was asked for."""

    def ask(self, program: Program, mode: str, limit: float = LIMIT, **request: Any) -> dict[str, Any]:
        """Starts a program in a mode of `server` and returns what came of it."""
        if self.closed:
            raise RuntimeError("nobody waits for an answer any more")
        server = self._server(program.kind)
        work = self.folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        (work / "program").mkdir(parents=True)
        program.write(work / "program")
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps({"work": str(work), "mode": mode, "limit": limit, **request}) + "\n")
        server.stdin.flush()
        line = server.stdout.readline()
        if self.closed:
            raise RuntimeError("nobody waits for this answer any more")
        if not line:
            self.servers.pop(program.kind)
            return {"status": "died", "error": "none", "stack": [], "out": "", "err": ""}
        # What ran out of time has no error of its own.
        found: dict[str, Any] = {"error": "none", "stack": [], **json.loads(line)}
        if found["status"] == "fault" and mode == "command":
            raise RuntimeError(f"not the tool's fault, but that of those who ask it: {found['message']}")
        self.spent[mode if mode != "command" else request["command"][0]] += found.get("cpu", 0.0)
        for stream in ("out", "err"):
            path = work / f"{stream}.txt"
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            found[stream] = text[-20_000:].replace(str(work / "program"), ".")
        found.update(_left(work, program))
        return found

    def shell(self, program: Program, command: list[str], limit: float = 180.0) -> dict[str, Any]:
        """Starts a real process in a program's folder; tells what it left there."""
        work = self.folder / "shell"
        shutil.rmtree(work, ignore_errors=True)
        (work / "program").mkdir(parents=True)
        program.write(work / "program")
        try:
            done = subprocess.run(
                command,
                cwd=work / "program",
                env=environment(),
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
            found: dict[str, Any] = {
                "status": "ok",
                "code": done.returncode,
                "out": done.stdout,
                "err": done.stderr[-4000:],
            }
        except subprocess.TimeoutExpired:
            found = {"status": "timeout", "code": None, "out": "", "err": ""}
        return {**found, **_left(work, program)}

    def _server(self, kind: str) -> subprocess.Popen[str]:
        running = self.servers.get(kind)
        if running is not None and running.poll() is None:
            return running
        made = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.server", kind],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert made.stdout is not None
        if made.stdout.readline() != "ready\n":
            raise RuntimeError(f"the libraries for {kind} programs cannot be imported here")
        self.servers[kind] = made
        return made

    def close(self) -> None:
        self.closed = True
        for server in list(self.servers.values()):
            server.terminate()
            server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _left(work: Path, program: Program) -> dict[str, Any]:
    """What a process left behind: the files of the program where it changed them, and its report."""
    found: dict[str, Any] = {}
    files = {n: (work / "program" / n).read_text(encoding="utf-8") for n in program.files}
    if files != program.files:
        found["files"] = files
    report = work / "report.json"
    if report.exists():
        try:
            found["report"] = json.loads(report.read_text(encoding="utf-8"))
        except ValueError:
            found["status"] = "its report is no JSON"
    return found


def environment() -> dict[str, str]:
    """One thread each, nothing fetched, no colour, no files left behind."""
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NO_COLOR": "1",
        "COLUMNS": "100",
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONWARNINGS": "ignore",
        "PYTHONHASHSEED": "0",
    }


class Pool:
    """Workers that take jobs from a queue; `map` gives results as they come."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.jobs: queue.SimpleQueue[tuple[Callable[[Worker], Any], Future[Any]] | None] = queue.SimpleQueue()
        self.workers = [Worker() for _ in range(size)]
        self.threads = [threading.Thread(target=self._work, args=(w,), daemon=True) for w in self.workers]
        for thread in self.threads:
            thread.start()

    def _work(self, worker: Worker) -> None:
        while (job := self.jobs.get()) is not None:
            do, future = job
            try:
                future.set_result(do(worker))
            except BaseException as error:
                future.set_exception(error)

    def map(self, do: Callable[[Worker, Any], T], items: Iterable[Any]) -> Iterator[tuple[Any, T]]:
        """Applies a function to every item; results come in order."""
        waiting: list[tuple[Any, Future[T]]] = []
        for item in items:
            future: Future[T] = Future()
            self.jobs.put((lambda worker, item=item: do(worker, item), future))
            waiting.append((item, future))
        for item, future in waiting:
            yield item, future.result()

    @property
    def spent(self) -> Counter[str]:
        """Seconds of processor time that programs took, by what was asked for."""
        return sum((w.spent for w in self.workers), Counter())

    def close(self) -> None:
        """Nothing that still waits is begun; what runs is ended."""
        with suppress(queue.Empty):
            while True:
                self.jobs.get_nowait()
        for _ in self.threads:
            self.jobs.put(None)
        for worker in self.workers:
            worker.close()
        for thread in self.threads:
            thread.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
