# SPDX-License-Identifier: BSD-3-Clause
"""What came of reading a file is kept until the file, or one that it looked into, changes.

NOTE [ The cache ]
1. One file per project: what was seen of each file at a glance, and what came of each entry with the files it rests on.
2. A file of the same size and time is the same file; if one differs, the digest of its content decides. A time so close
   to the reading that a later change could bear the same one is not trusted: the digest decides again.
3. What is written is one moment: every entry of it rests on the files as they were then.
4. The list of the project's files is part of the key: a new file can change what an import means.
5. Anything that cannot be read is as good as nothing: the cache is rebuilt, never trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from .. import __version__
from ..record import Finding, from_plain, to_plain
from .files.prefilter import Glance, glance, stems_of
from .files.project import Project
from .report.outcome import Outcome

__all__ = ["Cache"]

_FORM = 4
_CLOSE = 2_000_000_000
"""Nanoseconds: no file system keeps coarser times."""


def digest(data: bytes) -> str:
    """A short digest of content."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def own_digest() -> str:
    """A digest of what decides on findings: a changed rule must not be answered from the cache."""
    above = os.path.dirname(os.path.dirname(__file__))
    total = hashlib.blake2b(digest_size=12)
    for part in ("check", "causes", "remedies", "autograd", "record", "source"):
        for folder, folders, files in os.walk(os.path.join(above, part)):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".py"):
                    stat = os.stat(os.path.join(folder, name))
                    total.update(f"{name}:{stat.st_size}:{stat.st_mtime_ns}".encode())
    return total.hexdigest()


class Cache:
    """What is known of one project's files, from earlier or found out now."""

    def __init__(self, folder: str | None, project: Project, listing: list[str]) -> None:
        self._project = project
        self._listing = listing
        self._stems: set[bytes] | None = None
        self._began = time.time_ns()
        self._old: dict[str, Any] = {}
        """name -> [size, time, digest, *glance] as they were kept; there is no glance at files outside the list."""
        self._now: dict[str, list[Any]] = {}
        self._entries: dict[str, Any] = {}
        self._kept: dict[str, Any] = {}
        self._dirty = False
        self._path: Path | None = None
        if folder:
            names = "\n".join(sorted(listing)).encode("utf-8", "surrogateescape")
            self._key = f"{_FORM}:{__version__}:{own_digest()}:{digest(names)}"
            self._path = Path(folder) / f"{digest(str(project.root).encode('utf-8', 'surrogateescape'))}.json"
            self._load(self._path)

    def _load(self, path: Path) -> None:
        try:
            data = json.loads(path.read_bytes())
            if data["key"] == self._key:
                self._old, self._entries = dict(data["files"]), dict(data["entries"])
        except (OSError, ValueError, KeyError, TypeError):
            self._old, self._entries = {}, {}

    # files ------------------------------------------------------------------------------------------------------------

    def glance(self, file: str) -> Glance:
        """What can be told of a file without parsing it."""
        fact = self._fact(file, True)
        return fact[3], fact[4], fact[5], fact[6]

    def _fact(self, file: str, listed: bool = False) -> list[Any]:
        found = self._now.get(file)
        if found is None:
            found = self._now[file] = self._find(file, listed)
        return found

    def _find(self, file: str, listed: bool) -> list[Any]:
        old = self._old.get(file)
        if old is not None and (len(old) < 3 + 4 * listed):
            old = None
        size, when = self._project.stamp(file)
        if old is not None and when and old[0] == size and old[1] == when:
            return list(old)
        self._dirty = True
        data = self._project.content(file)
        mark = "" if data is None else digest(data)
        close = when + _CLOSE > self._began
        made: list[Any] = [size, 0 if close else when, mark]
        if old is not None and old[2] == mark:
            return [*made, *old[3:]]
        if listed:
            if self._stems is None:
                self._stems = stems_of(self._listing)
            made += glance(self._project, file, data or b"", self._stems)
        return made

    # entries ----------------------------------------------------------------------------------------------------------

    def get(self, name: str, extra: str = "") -> Outcome | None:
        """What came of an entry, where nothing it rests on has changed."""
        found = self._entries.get(name)
        try:
            if not found or found["extra"] != extra:
                return None
            if any(self._fact(f)[2] != self._old[f][2] for f in found["files"]):
                return None
            findings = [from_plain(Finding, f) for f in found["findings"]]
            denied = {(str(c), str(f), int(n), str(name)) for c, f, n, name in found["denied"]}
            called = {(str(f), int(n)) for f, lines in found["called"].items() for n in lines}
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return None
        self._kept[name] = found
        return Outcome(findings, list(found["notes"]), called, set(found["files"]), denied)

    def put(self, name: str, outcome: Outcome, extra: str = "") -> None:
        """Keeps what came of an entry."""
        if self._path is None:
            return
        called: dict[str, list[int]] = {}
        for file, line in sorted(outcome.called):
            called.setdefault(file, []).append(line)
        self._dirty = True
        self._kept[name] = {
            "extra": extra,
            "files": sorted(outcome.files),
            "findings": [to_plain(f) for f in outcome.findings],
            "notes": outcome.notes,
            "called": called,
            "denied": sorted(outcome.denied),
        }

    def save(self) -> None:
        """Writes the cache; a folder that cannot be written to is no reason to fail."""
        if self._path is None or not (self._dirty or len(self._kept) < len(self._entries)):
            return
        for entry in self._kept.values():
            for file in entry["files"]:
                self._fact(file)
        data = {"key": self._key, "files": self._now, "entries": self._kept}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            ignore = self._path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
            part = self._path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(data), "utf-8")
            part.replace(self._path)
        except (OSError, ValueError):
            return
