# SPDX-License-Identifier: BSD-3-Clause
"""What came of reading a file is kept until the file, or one that it looked into, changes.

NOTE [ The cache ]
1. An entry names the files it rests on with a digest of their content; times and sizes play no part.
2. The list of the project's files is part of every key: a new file can change what an import means.
3. Anything that cannot be read is as good as nothing: the cache is rebuilt, never trusted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .. import __version__
from ..record import Finding, from_plain, to_plain
from .reader import Outcome

__all__ = ["Cache"]

_FORM = 1


def digest(data: bytes) -> str:
    """A short digest of content."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def own_digest() -> str:
    """A digest of what decides on findings: a changed rule must not be answered from the cache."""
    here = Path(__file__).parent
    total = hashlib.blake2b(digest_size=12)
    for folder in (here, here.parent / "causes", here.parent / "autograd" / "ops"):
        for file in sorted(folder.glob("*.py")):
            stat = file.stat()
            total.update(f"{file.name}:{stat.st_size}:{stat.st_mtime_ns}".encode())
    return total.hexdigest()


class Cache:
    """The kept outcomes of one project."""

    def __init__(
        self, folder: str | None, root: str, listing: list[str], content: Callable[[str], bytes | None]
    ) -> None:
        self._content = content
        self._digests: dict[str, str] = {}
        self._changed = False
        self._entries: dict[str, Any] = {}
        self._path: Path | None = None
        self._key = (
            f"{_FORM}:{__version__}:{own_digest()}:{digest(os.linesep.join(sorted(listing)).encode())}"
            if folder
            else ""
        )
        if folder:
            self._path = Path(folder) / f"{digest(root.encode())}.json"
            self._entries = self._load()

    def _load(self) -> dict[str, Any]:
        assert self._path is not None
        try:
            data = json.loads(self._path.read_text("utf-8"))
            return dict(data["entries"]) if data["key"] == self._key else {}
        except (OSError, ValueError, KeyError, TypeError):
            return {}

    def _digest(self, file: str) -> str:
        if file not in self._digests:
            data = self._content(file)
            self._digests[file] = "" if data is None else digest(data)
        return self._digests[file]

    def get(self, name: str, extra: str = "") -> Outcome | None:
        """What came of an entry, where nothing it rests on has changed."""
        found = self._entries.get(name)
        try:
            if not found or found["extra"] != extra or any(self._digest(f) != d for f, d in found["files"].items()):
                return None
            findings = [from_plain(Finding, f) for f in found["findings"]]
            called = {(str(f), int(n)) for f, n in found["called"]}
            return Outcome(findings, list(found["notes"]), called, set(found["files"]))
        except (KeyError, TypeError, ValueError):
            return None

    def put(self, name: str, outcome: Outcome, extra: str = "") -> None:
        """Keeps what came of an entry."""
        if self._path is None:
            return
        self._changed = True
        self._entries[name] = {
            "extra": extra,
            "files": {f: self._digest(f) for f in sorted(outcome.files)},
            "findings": [to_plain(f) for f in outcome.findings],
            "notes": outcome.notes,
            "called": sorted(outcome.called),
        }

    def save(self) -> None:
        """Writes the cache; a folder that cannot be written to is no reason to fail."""
        if self._path is None or not self._changed:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            ignore = self._path.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n")
            part = self._path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps({"key": self._key, "entries": self._entries}), "utf-8")
            part.replace(self._path)
        except OSError:
            return
