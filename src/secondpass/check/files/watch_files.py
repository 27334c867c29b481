# SPDX-License-Identifier: BSD-3-Clause
"""`check --watch`: waits until a file changes."""

from __future__ import annotations

import os
import time

from .find_files import collect

__all__ = ["changes"]


def _times(paths: list[str]) -> dict[str, int]:
    found = {}
    for file in collect(paths, [])[0]:
        try:
            found[file] = os.stat(file).st_mtime_ns
        except OSError:
            continue
    return found


def changes(paths: list[str], interval: float = 0.5) -> None:
    """Returns when a file below the paths was changed, made or removed."""
    before = _times(paths)
    while _times(paths) == before:
        time.sleep(interval)
