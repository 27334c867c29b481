# SPDX-License-Identifier: BSD-3-Clause
"""What a caller can choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..record import Finding

__all__ = ["Settings"]

LIMIT = 5.0
"""Seconds of CPU that one file should take at most; one that takes many times as long hangs, and is given up."""


@dataclass(frozen=True)
class Settings:
    """What to read, and what to say about it."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    respect_gitignore: bool = True
    cache: str | None = None
    """Folder of the cache; None: no cache."""
    jobs: int | None = None
    limit: float = LIMIT
    finish: Callable[[list[Finding]], list[Finding]] | None = None
    """What is done to findings before they are kept in the cache: edits are worked out once."""
