# SPDX-License-Identifier: BSD-3-Clause
"""One explanation for one fault, however many ranks have it.

NOTE [ How ranks agree ]
1. The ranks of a run that share a machine have a folder: its name comes from their launcher, so nobody has to be asked.
   Each writes one file there, first that it is there, and at its end what it has found. Nothing listens on a port.
2. Who has found something waits a moment for the others: until each has written its end, or is dead, or the time is up. A
   rank that fails says so at once, and then works out what it has found: it is waited for longer. On a machine with more to
   do than processors all takes longer, and so does a moment.
3. Then the lowest rank that is alive and has found something tells it, merged, while it holds a lock; the others wait for
   that. What was told is written down behind it. A rank that dies meanwhile gives up the lock by dying, and the next tells.
4. Ranks that are still there are asked where they are: a signal makes Python write the stack, even of a rank that hangs in
   a reduction.
5. A rank that has found nothing does not wait.
"""

from __future__ import annotations

import contextlib
import faulthandler
import hashlib
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..causes import merged
from ..record import Finding, from_plain, to_plain
from ..watcher.libraries import library_of

__all__ = ["FOLDER", "Ranks", "clean_up", "run_folder", "spelled"]

FOLDER = "SECONDPASS_RUN_FOLDER"
"""In the environment of a rank that another has started: where they meet."""

_GATHER, _ENDING, _FAILING, _TURN = 1.0, 10.0, 4.0, 2.5
_TICK = 0.02
_LONGER = 8.0
_ASK = 0.3
_OLD = 24 * 3600


def run_folder() -> Path:
    """The folder of the run that this process is a rank of (rule 1)."""
    if FOLDER in os.environ:
        return Path(os.environ[FOLDER])
    names = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "MASTER_ADDR", "MASTER_PORT")
    told = [os.environ.get(n, "") for n in names]
    key = hashlib.sha256(repr(told).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"secondpass-{_user()}-{os.getppid()}-{key}"


def _moment(seconds: float) -> float:
    """So many seconds, or as much longer as everything takes here."""
    try:
        busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    except (AttributeError, OSError):
        busy = 1.0
    return seconds * min(_LONGER, max(1.0, busy))


def clean_up() -> None:
    """The launcher goes: what ranks of its that were killed have left goes with it."""
    for folder in Path(tempfile.gettempdir()).glob(f"secondpass-{_user()}-{os.getpid()}-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def spelled(ranks: list[int]) -> str:
    """Ranks for people: `0-3, 5`."""
    parts: list[list[int]] = []
    for rank in sorted(ranks):
        if parts and rank == parts[-1][-1] + 1:
            parts[-1].append(rank)
        else:
            parts.append([rank])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


class Ranks:
    """This rank, and what the others have left."""

    def __init__(self, rank: int, world: int, folder: Path) -> None:
        self.rank, self.world, self.folder, self.pid = rank, world, folder, os.getpid()
        self._stack: Any = None
        self.joined = False
        self._signal = 0
        self._has_told = False

    # -- coming and going ------------------------------------------------------------------------------------------

    def join(self) -> bool:
        """Says that this rank is there; False where the folder cannot be had, or is not ours."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            about = self.folder.lstat()
            if hasattr(os, "getuid") and (about.st_uid != os.getuid() or self.folder.is_symlink()):
                return False
            _sweep(self.folder)
            self._answer()
            self._write("running", ())
            self.joined = True
        except OSError:
            return False
        return True

    def _answer(self) -> None:
        """From here on a signal makes this process write down where it is (rule 4)."""
        number = int(getattr(signal, "SIGRTMIN", 0)) + 7
        if number == 7 or signal.getsignal(number) != signal.SIG_DFL or not hasattr(faulthandler, "register"):
            return
        self._stack = open(self.folder / f"stack-{self.rank}", "wb", buffering=0)  # noqa: SIM115
        faulthandler.register(number, file=self._stack, all_threads=True)
        self._signal = number

    def leave(self) -> None:
        """The last to leave takes the folder away."""
        if self._signal:
            faulthandler.unregister(self._signal)
            self._stack.close()
            self._signal = 0
        if self.joined:
            self.joined = False
            with contextlib.suppress(OSError):
                (self.folder / f"left-{self.rank}").touch()
                if all((self.folder / f"left-{o['rank']}").exists() or not _alive(o) for o in self._others()):
                    shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, state: str, findings: tuple[Finding, ...], error: str = "") -> None:
        data = {
            "rank": self.rank,
            "pid": self.pid,
            "began": _began(self.pid),
            "state": state,
            "signal": self._signal,
            "error": error,
            "findings": [to_plain(f) for f in findings],
        }
        path = self.folder / f"rank-{self.rank}.json"
        new = path.with_suffix(f".{self.pid}")
        new.write_text(json.dumps(data), encoding="utf-8")
        os.replace(new, path)

    # -- telling ---------------------------------------------------------------------------------------------------

    def settle(self, findings: tuple[Finding, ...], error: str, tell: Callable[[list[Finding]], None]) -> None:
        """Writes down what this rank has found; tells it, with what the others have found, if it is this rank's turn.

        `tell` is given what nobody has told yet.
        """
        self._write("failed" if error else "ended", findings, error)
        if not findings:
            return
        # A rank that has failed must go soon, for others may hang because of it; one that has ended may see the others end.
        self._wait_for("running", _moment(_GATHER) if error else _ENDING)
        self._wait_for("failing", _moment(_FAILING))
        self._wait(time.monotonic() + _moment(_TURN), lambda: self._all_told() or not self._somebody_before())
        with self._lock():
            told = self._told()
            new = [(key, f) for key, f in self.merge() if key not in told]
            if new:
                self._has_told = True
                tell([f for _, f in new])
                (self.folder / "told.new").write_text(json.dumps([*told, *(key for key, _ in new)]), encoding="utf-8")
                os.replace(self.folder / "told.new", self.folder / "told")

    def fails(self, error: str) -> None:
        """Says, before what was found is worked out, that this rank has failed."""
        self._write("failing", (), error)

    def _wait_for(self, state: str, seconds: float) -> None:
        self._wait(
            time.monotonic() + seconds,
            lambda: not any(o["state"] == state and _alive(o) for o in self._others()),
        )

    @property
    def told_by_another(self) -> bool:
        """Whether another rank has told something."""
        return self._has_told is False and bool(self._told())

    def merge(self) -> list[tuple[str, Finding]]:
        """The findings of all ranks, each once, with a name."""
        entries = self._entries()
        groups: dict[str, dict[int, Finding]] = {}
        for entry in entries:
            for plain in entry["findings"]:
                finding = from_plain(Finding, plain)
                groups.setdefault(_key(finding), {})[entry["rank"]] = finding
        found = []
        still = None
        for key, by_rank in groups.items():
            if still is None and any(f.severity == "error" for f in by_rank.values()):
                still = list(self._elsewhere(entries, {k for g in groups.values() for k in g}))
            one = merged(by_rank, [str(other["at"]) for other in still or () if other["at"]])
            if one is None:
                continue
            ranks = sorted(by_rank)
            where = (
                f"on all {self.world} ranks"
                if len(ranks) == self.world
                else f"on rank{'s' * (len(ranks) > 1)} {spelled(ranks)}"
            )
            if len(ranks) != self.world:
                where += f" of {self.world}"
            evidence = (
                {"what": "ranks", "text": where, "ranks": ranks, "of": self.world},
                *(still or () if one.severity == "error" else ()),
            )
            found.append((key, replace(one, evidence=(*one.evidence, *evidence))))
        return found

    def _elsewhere(self, entries: list[dict[str, Any]], have: set[int]) -> Iterator[dict[str, Any]]:
        """Where the ranks are that have found nothing."""
        for entry in entries:
            if entry["rank"] in have:
                continue
            at = ""
            if entry["state"] in ("failed", "failing"):
                text = f"rank {entry['rank']} failed as well: {entry['error']}"
            elif entry["state"] == "running" and not _alive(entry):
                text = f"rank {entry['rank']} is gone: it was killed, or died"
            elif entry["state"] == "running":
                at = self._ask(entry)
                stuck = "waits" if at and at == self._ask(entry) else "is"
                text = f"rank {entry['rank']} has not failed{f': it {stuck} in {at}' if at else ''}"
            else:
                continue
            line = at.partition(" ")[0]
            yield {"what": "rank", "text": text, "rank": entry["rank"], "state": entry["state"], "at": line}

    def _ask(self, entry: dict[str, Any]) -> str:
        """The innermost line of the user's that another rank is in."""
        path = self.folder / f"stack-{entry['rank']}"
        if not entry["signal"] or not _alive(entry) or not path.exists():
            return ""
        before = path.stat().st_size
        try:
            os.kill(entry["pid"], entry["signal"])
        except OSError:
            return ""
        self._wait(time.monotonic() + _moment(_ASK), lambda: path.stat().st_size > before)
        time.sleep(_TICK)
        text = path.read_bytes()[before:].decode("utf-8", "replace")
        for file, line in re.findall(r'File "([^"]+)", line (\d+)', text):
            if not _is_library(file):
                shown = os.path.relpath(file) if file.startswith(os.getcwd() + os.sep) else file
                source = _line(file, int(line))
                return f"{shown}:{line}{f' (`{source}`)' if source else ''}"
        return ""

    def others_failed(self) -> list[tuple[int, Finding]]:
        """What other ranks have found so far, lowest rank first: a rank whose peer is gone asks for it."""
        found = []
        for entry in self._others():
            found += [(entry["rank"], from_plain(Finding, f)) for f in entry["findings"] if f["severity"] == "error"]
        return found

    def gone(self) -> list[int]:
        """Ranks that were killed, or died without a word."""
        return [e["rank"] for e in self._others() if e["state"] == "running" and not _alive(e)]

    # -- files -----------------------------------------------------------------------------------------------------

    def _entries(self) -> list[dict[str, Any]]:
        found = []
        for path in self.folder.glob("rank-*.json"):
            with contextlib.suppress(OSError, ValueError):
                found.append(json.loads(path.read_text(encoding="utf-8")))
        return sorted(found, key=lambda e: e["rank"])

    def _others(self) -> list[dict[str, Any]]:
        return [e for e in self._entries() if e["rank"] != self.rank]

    def _somebody_before(self) -> bool:
        return any(e["findings"] and e["rank"] < self.rank and _alive(e) for e in self._others())

    def _told(self) -> list[str]:
        try:
            found: list[str] = json.loads((self.folder / "told").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = []
        return found

    def _all_told(self) -> bool:
        told = self._told()
        return bool(told) and all(_key(from_plain(Finding, f)) in told for e in self._entries() for f in e["findings"])

    def _wait(self, until: float, done: Callable[[], bool]) -> None:
        while not done() and time.monotonic() < until:
            time.sleep(_TICK)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            import fcntl
        except ImportError:  # elsewhere two may tell
            yield
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with open(self.folder / "lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _key(finding: Finding) -> str:
    """What makes two findings one: the cause, the line, and the name."""
    at = finding.failed
    return repr((finding.code, at.file, at.line, at.cell) if at is not None else (finding.code, finding.message))


def _began(pid: int) -> str:
    """When a process began, so that another of the same number is not taken for it; "" where that cannot be told."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _alive(entry: dict[str, Any]) -> bool:
    pid = int(entry["pid"])
    try:
        rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return rest[0] not in "ZX" and (not entry["began"] or rest[19] == entry["began"])
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _sweep(folder: Path) -> None:
    """Folders of runs whose ranks were all killed."""
    for other in folder.parent.glob(f"secondpass-{_user()}-*-*"):
        with contextlib.suppress(OSError):
            if other != folder and time.time() - other.stat().st_mtime > _OLD and other.is_dir():
                shutil.rmtree(other, ignore_errors=True)


_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _is_library(file: str) -> bool:
    return file.startswith(("<", sys.base_prefix + os.sep + "lib", _OURS)) or library_of(file) != ""


def _line(file: str, number: int) -> str:
    import linecache

    return linecache.getline(file, number).strip()[:60]
