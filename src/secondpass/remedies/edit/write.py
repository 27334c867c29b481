# SPDX-License-Identifier: BSD-3-Clause
"""Writing repaired files, and taking it back.

NOTE [ A file is whole: old or new ]
1. New text goes to a temporary file in the same folder, is flushed to disk, and is then renamed over the old one.
2. The undo file is written the same way before the first file is touched; a kill in between leaves files that it knows.
3. A file that is not byte for byte what was read is not touched; nor is one outside the working directory.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import tempfile
import tokenize
from pathlib import Path

__all__ = ["UNDO", "Refused", "encode", "undo", "write"]

UNDO = ".secondpass-undo.json"


class Refused(Exception):
    """Nothing was written, and why."""


def encode(path: Path, text: str) -> bytes:
    """The text in the encoding that the file declares; line endings are in the text already."""
    try:
        with path.open("rb") as file:
            encoding, _ = tokenize.detect_encoding(file.readline)
    except (OSError, SyntaxError):
        encoding = "utf-8"
    return text.encode(encoding)


def write(root: Path, old: dict[str, str], new: dict[str, str], since: dict[Path, bytes] | None = None) -> list[Path]:
    """Writes all files or none; raises `Refused` before anything is touched.

    :param since: what earlier calls have replaced, and this one: all of it is taken back together
    """
    since = since if since is not None else {}
    todo = []
    for file, text in sorted(new.items()):
        path = (root / file).resolve()
        if not path.is_relative_to(root.resolve()):
            raise Refused(f"{file} lies outside the working directory; apply the patch there yourself")
        try:
            before = path.read_bytes()
        except OSError as error:
            raise Refused(f"cannot read {file}: {error.strerror}") from None
        # Asked of the system, not of the mode: whether this user may write is what counts.
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise Refused(f"{file} is read-only")
        if before != encode(path, old[file]):
            raise Refused(f"{file} has changed since it was read; run the command again")
        todo.append((path, before, encode(path, text)))
    after = {path: data for path, _, data in todo}
    for path, before, _ in todo:
        since.setdefault(path, before)
    entries = [
        {
            "file": path.relative_to(root.resolve()).as_posix(),
            "old": base64.b64encode(before).decode(),
            "new": _hash(after[path] if path in after else path.read_bytes()),
        }
        for path, before in since.items()
    ]
    _replace(root / UNDO, json.dumps({"schema": "secondpass-undo/1", "files": entries}).encode())
    for path, _, data in todo:
        _replace(path, data)
    return [path for path, _, _ in todo]


def undo(root: Path) -> list[str]:
    """Puts the files back as they were before the last `write`."""
    try:
        data = json.loads((root / UNDO).read_text(encoding="utf-8"))
        entries = [(e["file"], base64.b64decode(e["old"]), e["new"]) for e in data["files"]]
    except FileNotFoundError:
        raise Refused("nothing to undo here") from None
    except (ValueError, KeyError, TypeError, OSError):
        raise Refused(f"{UNDO} cannot be read") from None
    todo = []
    for file, old, new in entries:
        path = (root / file).resolve()
        if not path.is_relative_to(root.resolve()):
            raise Refused(f"{file} lies outside the working directory")
        try:
            now = path.read_bytes()
        except OSError as error:
            raise Refused(f"cannot read {file}: {error.strerror}") from None
        if now != old and _hash(now) != new:
            raise Refused(f"{file} has been changed since the repair; undo it by hand")
        if now != old:
            todo.append((path, file, old))
    for path, _, old in todo:
        _replace(path, old)
    (root / UNDO).unlink()
    return [file for _, file, _ in todo]


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _replace(path: Path, data: bytes) -> None:
    """See NOTE [ A file is whole: old or new ], 1."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
