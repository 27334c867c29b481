# SPDX-License-Identifier: BSD-3-Clause
"""A graph that was read, not walked: an exception from reading a freed node's saved tensors outside any pass."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import torch

from ..torchgraph import LEAF, freed, is_leaf, touchable, walk_young
from .bindings import Snapshot
from .failure import kind_of
from .ledger import PassNote
from .watcher import Watcher

__all__ = ["Access", "read_by"]


class _Failed:
    """Stands for the failed pass where there was none."""

    def __init__(self, note: PassNote, error: BaseException) -> None:
        self.note, self.error, self.kind = note, error, "freed-access"


class Access:
    """What a failed access leaves behind in its traceback: the frames, and the node that one of them was reading."""

    def __init__(self, watcher: Watcher, error: BaseException) -> None:
        self.watcher = watcher
        key, node, self.name = _where(watcher, error.__traceback__)
        note = PassNote(watcher.ledger.clock, "access", key, 0, torch.autograd._get_sequence_nr(), 0)  # type: ignore[attr-defined]
        self.failed: Any = _Failed(note, error)
        self.failing = node
        self.nodes = (walk_young([node], touchable())) if node is not None else {}
        self.number = {n: watcher.leaves.of(n) for n in self.nodes}
        self.freed = {n: None if is_leaf(n) else freed(n) for n in self.nodes}
        self.tensors: dict[str, torch.Tensor] = {}
        self.shot = Snapshot()
        self.saved, self.data = None, None

    @staticmethod
    def fits(error: BaseException) -> bool:
        """Whether an exception can have come from such an access; one that quotes another's text (a child process's) is
        of another class."""
        return isinstance(error, RuntimeError) and kind_of(error) in ("backward-twice", "freed-access")


def _frames(traceback: TracebackType | None) -> list[tuple[FrameType, int, int]]:
    """Frames with line and instruction, innermost first."""
    found = []
    while traceback is not None:
        found.append((traceback.tb_frame, traceback.tb_lineno, traceback.tb_lasti))
        traceback = traceback.tb_next
    return found[::-1]


def _where(watcher: Watcher, traceback: TracebackType | None) -> tuple[tuple[Any, ...], Any, str]:
    """The user's frames, the node that was read, and the path that holds it (or the tensor that it belongs to)."""
    frames = _frames(traceback)
    key = tuple(
        (f.f_code.co_filename, line, f.f_code.co_qualname) for f, line, _ in frames if watcher.files.mine(f.f_code)
    )
    for frame, _, instruction in frames:
        for path, holder, value in _read(frame, instruction):
            node = value if _is_freed_node(value) else getattr(value, "grad_fn", None)
            if _is_freed_node(node):
                return key, node, path if holder else ""
    names = _names(frames)
    for name, value in names:
        if _is_freed_node(value):
            return key, value, name
    for name, value in names:  # read off a tensor, by a function of a library
        if isinstance(value, torch.Tensor) and _is_freed_node(value.grad_fn):
            return key, value.grad_fn, name
    return key, None, ""


def read_by(frame: FrameType, instruction: int) -> Iterator[tuple[str, Any]]:
    """The chains of names, attributes and entries that the failing expression of a frame reads, each with its value."""
    for chain in _chains(frame, instruction):
        if (value := _value(chain, frame)) is not None:
            yield ast.unparse(chain), value


def _read(frame: FrameType, instruction: int) -> Iterator[tuple[str, bool, Any]]:
    """What the failing expression of a frame reads: for every chain of names, attributes and entries in it, the path up to
    the first tensor or node, whether there is one, and the value of the whole chain. No code of the user's is run."""
    for chain in _chains(frame, instruction):
        holder = ""
        for part in _parts(chain):
            value = _value(part, frame)
            if not holder and (isinstance(value, torch.Tensor) or _is_node(value)):
                holder = ast.unparse(part)
            if value is None:
                break
            yield holder, bool(holder), value


def _chains(frame: FrameType, instruction: int) -> Iterator[ast.Name | ast.Attribute | ast.Subscript]:
    line, end, column, stop = list(frame.f_code.co_positions())[instruction // 2]
    if line is None or end is None or column is None or stop is None:
        return
    text = linecache.getlines(frame.f_code.co_filename)[line - 1 : end]
    raw = [t.encode() for t in text]  # columns count bytes
    raw[-1:] = [t[:stop] for t in raw[-1:]]
    raw[:1] = [t[column:] for t in raw[:1]]
    try:
        expression = ast.parse(b"(" + b"".join(raw) + b")", mode="eval")
    except SyntaxError:
        return
    for chain in ast.walk(expression):
        if isinstance(chain, (ast.Name, ast.Attribute, ast.Subscript)):
            yield chain


def _parts(chain: ast.expr) -> list[ast.expr]:
    """A chain's beginnings, the shortest first; none where it does not begin with a name."""
    found = [chain]
    while isinstance(chain, (ast.Attribute, ast.Subscript)):
        chain = chain.value
        found.insert(0, chain)
    return found if isinstance(chain, ast.Name) else []


def _value(chain: ast.expr, frame: FrameType) -> Any:
    """The value of a chain where reading it runs nobody's code; None elsewhere."""
    if isinstance(chain, ast.Name):
        return frame.f_locals.get(chain.id, frame.f_globals.get(chain.id))
    if isinstance(chain, ast.Subscript) and isinstance(chain.slice, ast.Constant):
        held = _value(chain.value, frame)
        try:
            return held[chain.slice.value] if type(held) in (list, tuple, dict) else None
        except (LookupError, TypeError):
            return None
    if isinstance(chain, ast.Attribute):
        held = _value(chain.value, frame)
        if isinstance(held, torch.Tensor):
            return held.grad_fn if chain.attr == "grad_fn" else None
        if chain.attr == "next_functions" and hasattr(held, "_sequence_nr"):
            return held.next_functions
        return getattr(held, "__dict__", {}).get(chain.attr)
    return None


def _is_node(value: Any) -> bool:
    # The class of a function of one's own has a node's attributes, too.
    return not isinstance(value, type) and hasattr(value, "next_functions") and hasattr(value, "_sequence_nr")


def _is_freed_node(value: Any) -> bool:
    if not _is_node(value):
        return False
    try:
        return not is_leaf(value) and value._sequence_nr() != LEAF and bool(freed(value))
    except Exception:
        return False


def _names(frames: list[tuple[FrameType, int, int]]) -> list[tuple[str, Any]]:
    """Locals of the frames, innermost first, then what they have as attributes (`ctx` kept on an object or a class)."""
    local = [item for frame, _, _ in frames for item in list(frame.f_locals.items())]
    inside = [(f"{name}.{key}", v) for name, value in local for key, v in list(getattr(value, "__dict__", {}).items())]
    return local + inside
