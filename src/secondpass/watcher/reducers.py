# SPDX-License-Identifier: BSD-3-Clause
"""What DistributedDataParallel does with the gradients of a pass, read from its reducer.

NOTE [ What a reducer tells ]
1. A forward makes the reducer ready for one reduction (unless it runs under `no_sync()`). The first pass that reaches a
   parameter hands its gradient over; when all have come they are averaged, and later passes are not noticed any more
   until the next forward. No error says so.
2. `get_backward_stats` has, for each parameter, when its gradient was handed over last. What a pass has changed there, it
   has handed over: so it is seen, not guessed, which passes are averaged.
   A time is what has passed since the forward, to the nanosecond: once in a few thousand passes it comes out as it was.
3. With `static_graph` the first reduction is made for all parameters at once when the pass ends, and leaves no times.
4. A module is known from its first forward on, or from when a name in sight leads to it. Nothing of torch.distributed is
   imported: torch itself has loaded the class.
"""

from __future__ import annotations

import re
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from functools import wraps
from types import CodeType, FrameType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling

from ..torchgraph import Leaves
from .bindings import Snapshot
from .files import Files
from .ledger import PassNote
from .rank import rank

__all__ = ["ForwardNote", "Reducers", "Refused"]

_HEAD, _TAIL = 64, 64
_LOOKED, _EVERY = 16, 64
_OUTPUTS = 32
_SITES = 1000
_peek = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]

Times = list[tuple[int, list[int]]]


def _nobody() -> Any:
    return None


class ForwardNote:
    """One forward as it was seen."""

    __slots__ = ("began", "ended", "key", "module", "outputs", "position", "synchronises", "thread")

    def __init__(self, module: int, key: tuple[Any, ...], began: int, position: int, sync: bool) -> None:
        self.module, self.key = module, key
        self.began, self.position, self.synchronises = began, position, sync
        self.thread = threading.get_ident()
        self.ended: int | None = None
        self.outputs: dict[str, int] | None = None


class _Module:
    """A module that averages gradients; the module itself is not kept alive."""

    def __init__(self, module: Any, leaves: Leaves) -> None:
        self.ref = weakref.ref(module)
        self.name = ""
        ignored = getattr(module, "parameters_to_ignore", ())
        own = [(n, p) for n, p in module.module.named_parameters() if p.requires_grad and n not in ignored]
        self.names = tuple(n for n, _ in own)
        self.leaves = tuple(leaves.number(p) for _, p in own)
        self.find_unused = bool(getattr(module, "find_unused_parameters", False))
        self.static = bool(getattr(module, "static_graph", False))
        self.ranks: int | None = None
        try:
            self.ranks = int(module.process_group.size())
        except Exception:
            pass  # a group that is gone, or none
        self.forwards = 0
        self.handed = False
        """Whether a pass was ever seen to hand a gradient over (rule 3)."""

    def times(self) -> list[int] | None:
        module = self.ref()
        reducer = getattr(module, "reducer", None)
        if reducer is None:
            return None
        times = list(reducer.get_backward_stats())
        return times if len(times) == len(self.leaves) else None


class Reducers:
    """The modules of this process that average gradients over ranks, and their forwards."""

    def __init__(self, files: Files, leaves: Leaves) -> None:
        self._files, self._leaves = files, leaves
        self.modules: list[_Module] = []
        self._head: list[ForwardNote] = []
        self._tail: deque[ForwardNote] = deque(maxlen=_TAIL)
        self.alone: set[int] = set()
        """Modules with gradients that some pass has filled since the last that was averaged."""
        self._alone_within: set[int] = set()
        """Likewise, of the passes within the one that is under way."""
        self.passed_over = 0
        """Forwards in stretches in which notes are short (see `short_notes`): nothing is written down of them."""
        self._last, self._last_ref = 0, _nobody
        self._keys: dict[tuple[CodeType, int], tuple[Any, ...]] = {}
        """Call sites by the innermost frame of the user's."""
        self._between: set[CodeType] = set()
        """What PyTorch puts between that frame and the forward."""
        self.kind: Any = None
        self._plain: Any = None
        self._wrapper: Any = None

    # -- coming and going ------------------------------------------------------------------------------------------

    def start(self, watcher: Any) -> None:
        loaded = sys.modules.get("torch.nn.parallel.distributed")
        self.kind = getattr(loaded, "DistributedDataParallel", None)
        if self.kind is not None:
            self._plain = self.kind.forward
            self._wrapper = _entrance(watcher, self, self._plain)
            self.kind.forward = self._wrapper

    def stop(self) -> None:
        # One that came later calls ours on: then it stays, and does nothing.
        if self.kind is not None and self.kind.__dict__.get("forward") is self._wrapper:
            self.kind.forward = self._plain

    def index(self, module: Any) -> int:
        """Which module it is, a new one if it was not seen before."""
        for k, known in enumerate(self.modules):
            if known.ref() is module:
                return k
        rank()  # is remembered: the process group may be gone when it is asked for
        self.modules.append(_Module(module, self._leaves))
        return len(self.modules) - 1

    def see(self, name: str, module: Any) -> None:
        """A name in sight leads to a module."""
        if self.kind is not None and isinstance(module, self.kind):
            known = self.modules[self.index(module)]
            if not known.name or len(name) < len(known.name):
                known.name = name

    # -- forwards --------------------------------------------------------------------------------------------------

    def begins(self, module: Any, position: int, frame: FrameType) -> ForwardNote | None:
        if not torch.is_grad_enabled():
            return None
        index = self._last if self._last_ref() is module else self.index(module)
        self._last, self._last_ref = index, self.modules[index].ref
        # The frames are told by the innermost of the user's, once they are known: see NOTE [ When a note may be short ].
        while frame.f_code in self._between and frame.f_back is not None:
            frame = frame.f_back
        here = frame.f_code, frame.f_lasti
        key = self._keys.get(here)
        if key is None:
            key = self._learn(frame)
        note = ForwardNote(index, key, _peek(), position, module.require_backward_grad_sync)
        self.modules[index].forwards += 1
        if len(self._head) < _HEAD:
            self._head.append(note)
        else:
            self._tail.append(note)
        return note

    def _learn(self, frame: FrameType) -> tuple[Any, ...]:
        """A call site that is new."""
        key = self._files.key(frame)
        at: FrameType | None = frame
        while at is not None and not self._files.mine(at.f_code):
            at = at.f_back
        if at is not None:
            if len(self._keys) > _SITES:
                self._keys.clear()
                self._between.clear()
            self._keys[at.f_code, at.f_lasti] = key
            while frame is not at and frame.f_back is not None:
                self._between.add(frame.f_code)
                frame = frame.f_back
        return key

    def ends(self, note: ForwardNote, output: Any) -> None:
        note.ended = _peek()
        count = self.modules[note.module].forwards
        if count <= _LOOKED or count % _EVERY == 0:
            with torch._C.DisableTorchFunction():
                note.outputs = dict(_outputs(output, "", 0))

    def notes(self) -> list[ForwardNote]:
        return [*self._head, *self._tail]

    # -- passes ----------------------------------------------------------------------------------------------------

    def before(self) -> Times:
        """What the reducers say when a pass begins."""
        return [(k, times) for k, m in enumerate(self.modules) if (times := m.times()) is not None]

    def after(self, before: Times, *, nested: bool = False) -> dict[int, tuple[int, ...]]:
        """The leaves that were handed over since, in a pass or in one within it."""
        found = {}
        for k, old in before:
            module = self.modules[k]
            new = module.times()
            if new is None:
                continue
            handed = tuple(n for n, a, b in zip(module.leaves, old, new, strict=True) if a != b)
            module.handed = module.handed or bool(handed)
            if handed:
                self._alone_within -= {k} if nested else set()
                if k not in self._alone_within:
                    self.alone.discard(k)
            elif module.static and not module.handed:
                continue  # rule 3
            else:
                self.alone.add(k)
                self._alone_within |= {k} if nested else set()
            found[k] = handed
        if not nested:
            self._alone_within = set()
        return found


class Refused:
    """A forward that the reducer refused: stands where otherwise the graph of a failed pass does."""

    def __init__(self, watcher: Any, note: ForwardNote, error: BaseException, kind: str) -> None:
        self.watcher = watcher
        self.failed: Any = _Failed(watcher.ledger.clock, note, error, kind)
        self.parallel = note.module
        self.waiting = self._waiting(watcher.reducers.modules[note.module].leaves, str(error))
        self.failing = self.saved = self.data = None
        self.nodes: dict[Any, Any] = {}
        self.number: dict[Any, int] = {}
        self.freed: dict[Any, Any] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self.shot = Snapshot()

    @staticmethod
    def _waiting(leaves: tuple[int, ...], message: str) -> tuple[int, ...] | None:
        """PyTorch says which parameters it waits for, by their index."""
        listed = re.search(r"did not receive grad for rank \d+:([\d ]+)", message)
        indices = [int(i) for i in listed[1].split()] if listed else []
        return tuple(leaves[i] for i in indices) if indices and max(indices) < len(leaves) else None


class _Failed:
    def __init__(self, when: int, note: ForwardNote, error: BaseException, kind: str) -> None:
        self.note = PassNote(when, "access", note.key, note.thread, note.began, note.position)
        self.error, self.kind = error, kind


def _outputs(value: Any, way: str, depth: int) -> Iterator[tuple[str, int]]:
    """The nodes behind what a forward returned, by the way to them."""
    if isinstance(value, torch.Tensor):
        if value.grad_fn is not None:
            yield way, value.grad_fn._sequence_nr()
    elif depth < 2 and isinstance(value, dict):
        for key, item in list(value.items())[:_OUTPUTS]:
            yield from _outputs(item, f"{way}[{key!r}]", depth + 1)
    elif depth < 2 and isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None)
        for k, item in enumerate(value[:_OUTPUTS]):
            yield from _outputs(item, f"{way}.{names[k]}" if names else f"{way}[{k}]", depth + 1)


def _entrance(watcher: Any, reducers: Reducers, plain: Callable[..., Any]) -> Callable[..., Any]:
    """What stands in the place of the class's `forward`."""
    begins, ends, log, frame_at = reducers.begins, reducers.ends, watcher.log, sys._getframe
    steady = watcher.steady

    @wraps(plain)
    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if is_dynamo_compiling():
            return plain(self, *inputs, **kwargs)  # nothing of ours is traced
        note = None
        if steady.left:
            reducers.passed_over += 1
        elif watcher.awake:
            try:
                note = begins(self, log.position() if log is not None else 0, frame_at(1))
            except Exception as error:
                watcher.fault(error)
        try:
            output = plain(self, *inputs, **kwargs)
        except RuntimeError as error:
            watcher.guarded(watcher.refused, self, note, error)
            raise
        if note is not None:
            try:
                ends(note, output)
            except Exception as error:
                watcher.fault(error)
        return output

    return forward
