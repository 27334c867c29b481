# SPDX-License-Identifier: BSD-3-Clause
"""Which of several processes that train together this one is."""

from __future__ import annotations

import os
import sys

__all__ = ["rank", "world"]


class _Known:
    """What was known while there was a process group: the program may have destroyed it by the time that it is asked."""

    rank: int | None = None
    world: int | None = None
    pid = 0


def _look() -> None:
    if _Known.pid != os.getpid():  # a fork has its own
        _Known.rank, _Known.world, _Known.pid = None, None, os.getpid()
    distributed = sys.modules.get("torch.distributed")
    try:
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            _Known.rank, _Known.world = distributed.get_rank(), distributed.get_world_size()
    except Exception:
        pass  # a group that is half made or half gone
    for name in ("rank", "world"):
        if getattr(_Known, name) is None:
            value = os.environ.get({"rank": "RANK", "world": "WORLD_SIZE"}[name], "")
            setattr(_Known, name, int(value) if value.isdigit() else None)


def rank() -> int | None:
    """This process's rank: that of its process group or, where it has none (any more), what its launcher has said."""
    _look()
    return _Known.rank


def world() -> int | None:
    """How many ranks there are."""
    _look()
    return _Known.world
