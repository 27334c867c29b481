# SPDX-License-Identifier: BSD-3-Clause
"""Standing where PyTorch calls a function of its own, for as long as anybody needs it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["StandIn", "standing_in"]

_lock = threading.Lock()


class StandIn:
    """What stands in for a function, with the function `below` it."""

    def __init__(self, below: Any) -> None:
        self.below, self.users = below, 0


_Kind = TypeVar("_Kind", bound=StandIn)


@contextmanager
def standing_in(kind: type[_Kind], home: Any, name: str) -> Iterator[_Kind]:
    """Within, a `kind` stands for what a module has under a name: one for all that are within, in whatever thread."""
    with _lock:
        here = getattr(home, name)
        if not isinstance(here, kind):
            here = kind(here)
            setattr(home, name, here)
        here.users += 1
    try:
        yield here
    finally:
        with _lock:
            here.users -= 1
            if not here.users and getattr(home, name) is here:
                setattr(home, name, here.below)
