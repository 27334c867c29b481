# SPDX-License-Identifier: BSD-3-Clause
"""A graph that was read, not walked: an exception from reading a freed node's saved tensors outside any pass."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from ..torchgraph import LEAF, freed, is_leaf, touchable, walk_young
from .bindings import Snapshot
from .failure import kind_of
from .ledger import PassNote
from .watcher import Watcher

__all__ = ["Access"]


class _Failed:
    """Stands for the failed pass where there was none."""

    def __init__(self, note: PassNote, error: BaseException) -> None:
        self.note, self.error, self.kind = note, error, "freed-access"


class Access:
    """What a failed access leaves behind in its traceback: the frames, and the node that one of them was reading."""

    def __init__(self, watcher: Watcher, error: BaseException) -> None:
        self.watcher = watcher
        key, node = _where(watcher, error.__traceback__)
        note = PassNote(watcher.ledger.clock, "access", key, 0, torch.autograd._get_sequence_nr(), 0)  # type: ignore[attr-defined]
        self.failed: Any = _Failed(note, error)
        self.failing = node
        self.nodes = (walk_young([node], touchable())) if node is not None else {}
        self.number = {n: watcher.leaves.of(n) for n in self.nodes}
        self.freed = {n: None if is_leaf(n) else freed(n) for n in self.nodes}
        self.tensors: dict[str, torch.Tensor] = {}
        self.shot = Snapshot()
        self.saved, self.data = None, None
        self.name = next((n for n, v in _names(error.__traceback__) if v is node), "") if node is not None else ""

    @staticmethod
    def fits(error: BaseException) -> bool:
        """Whether an exception can have come from such an access."""
        return kind_of(error) in ("backward-twice", "freed-access")


def _frames(traceback: TracebackType | None) -> list[tuple[Any, int]]:
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return found[::-1]


def _where(watcher: Watcher, traceback: TracebackType | None) -> tuple[tuple[Any, ...], Any]:
    key = tuple(
        (f.f_code.co_filename, line, f.f_code.co_qualname)
        for f, line in _frames(traceback)
        if watcher.files.mine(f.f_code)
    )
    held = [v for _, v in _names(traceback)]
    node = next((v for v in held if _is_freed_node(v)), None)
    if node is None:  # read off a tensor: `y.grad_fn._saved_result`
        tensors = [v for v in held if isinstance(v, torch.Tensor) and v.grad_fn is not None]
        node = next((t.grad_fn for t in tensors if _is_freed_node(t.grad_fn)), None)
    return key, node


def _is_freed_node(value: Any) -> bool:
    if isinstance(value, type) or not hasattr(value, "next_functions") or not hasattr(value, "_sequence_nr"):
        return False
    try:
        return not is_leaf(value) and value._sequence_nr() != LEAF and bool(freed(value))
    except Exception:
        return False


def _names(traceback: TracebackType | None) -> list[tuple[str, Any]]:
    """Locals of the frames, innermost first, then what they have as attributes (`ctx` kept on an object or a class)."""
    local = [item for frame, _ in _frames(traceback) for item in list(frame.f_locals.items())]
    inside = [(f"{name}.{key}", v) for name, value in local for key, v in list(getattr(value, "__dict__", {}).items())]
    return local + inside
