# SPDX-License-Identifier: BSD-3-Clause
"""Short notes, for programs whose steps take milliseconds: there a full note of every pass would be felt.

NOTE [ When a note may be short ]
1. Only after the first passes, between the windows in which gradients are followed (see the watcher), and only while steps
   come so fast that names would hardly ever be looked at anyway.
2. A short note is one tuple of numbers: no look, no following. It holds all that a full note would hold without those, and
   becomes one when somebody asks (`whole`).
3. What is not plain (another thread, a pass within a pass, several roots, given inputs, `create_graph`, a site that is new)
   gets a full note. So nodes that a plain pass builds itself are taken for later ones.
4. Which node a pass starts from is not asked (PyTorch would make an object of it): at a site where the root has always been
   equally far from the pass, it is taken to be so again. At other sites notes are full.
5. The frames of a pass are told by the two innermost; the others are taken from the last full note there. Of a step only
   the innermost is ever told.
6. What costs here is not the work but the memory that it touches for the first time in a step: so `begin_pass` and
   `begin_step` are written out, with what they need in their own cells.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from .events import Ledger, PassNote, Site, StepNote
from .files import Files
from .grads import Grads
from .lines import Log

__all__ = ["Steady"]

_FAST = 0.03
_KNOWN = 4
_NONE: tuple[Any, ...] = (None, None, 0, None)
_peek = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]


class Steady:
    """Writes short notes into a ledger."""

    __slots__ = ("_ended", "_files", "_last", "_ledger", "_main", "begin_pass", "begin_step", "in_pass", "left")

    def __init__(self, files: Files, ledger: Ledger, grads: Grads, log: Log | None) -> None:
        self.left = 0
        """How many passes and steps will still be noted in short."""
        self.in_pass = False
        """Whether a pass that was noted in short is under way."""
        self._files, self._ledger = files, ledger
        self._last: dict[int, tuple[Any, ...]] = {}
        self._main = threading.main_thread().ident
        self._ended = 0.0
        ledger.whole = self._whole
        log = log or Log()  # with none, all happens at its beginning
        self.begin_pass = self._pass_beginner(log)
        self.begin_step = self._step_beginner(log, grads.by_identity)

    def reset(self) -> None:
        """From here on notes are full, until steps are seen to be fast."""
        self.left, self.in_pass = 0, False

    def fast(self) -> bool:
        """Whether steps follow each other fast; called at the end of each step that is noted in full."""
        before, self._ended = self._ended, time.perf_counter()
        return self._ended - before < _FAST

    def failed(self) -> PassNote:
        """The pass that is under way fails: from here on notes are full again, beginning with its own."""
        self.reset()
        return self._ledger.make_whole()  # type: ignore[no-any-return]

    def within_pass(self) -> bool:
        """Whether this is a pass within one that was noted in short."""
        return self.in_pass and threading.get_ident() == self._main

    def _pass_beginner(self, log: Log) -> Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]:
        frame_at, ident, peek, size, none = sys._getframe, threading.get_ident, _peek, log.marks.__len__, _NONE
        last, ledger, main = self._last.get, self._ledger, self._main

        def begin_pass(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
            """Notes a pass, if that can be done in short."""
            if len(args) != 4 or len(outputs) != 1 or self.in_pass or ident() != main:
                return False
            _, retain, create, inputs = args
            if create or inputs:
                return False
            try:
                frame = frame_at(4)  # behind the caller, `torch.autograd.backward` and `Tensor.backward`
                caller = frame.f_back or frame
            except ValueError:  # there are not so many
                return False
            code, outer, instruction, site = last(frame.f_lasti, none)
            if frame.f_code is not code or caller.f_lasti != instruction or caller.f_code is not outer:
                site = self._site(frame_at(3), frame, caller)
                if site is None:
                    return False
            self.in_pass = True
            self.left -= 1
            site.count += 1
            ledger.passes += 1
            ledger.clock = when = ledger.clock + 1
            ledger.short((when, site, site.count, peek(), size() + log.dropped, retain, kwargs))
            return True

        return begin_pass

    def _site(self, inner: FrameType, frame: FrameType, caller: FrameType) -> Site | None:
        """The call site of a pass, if it is not the one that began at this instruction last time."""
        site = self._ledger.pass_sites.get(self._files.key(inner))
        if site is None or site.steady < _KNOWN:
            return None
        if self._files.mine(frame.f_code) and not self._files.mine(inner.f_code):
            self._last[frame.f_lasti] = frame.f_code, caller.f_code, caller.f_lasti, site
        return site

    def _step_beginner(self, log: Log, books: dict[int, tuple[Any, Any]]) -> Callable[[Any], bool]:
        frame_at, ident, peek, size = sys._getframe, threading.get_ident, _peek, log.marks.__len__
        ledger, main, unknown = self._ledger, self._main, (lambda: None, None)

        def begin_step(optimizer: Any) -> bool:
            """Notes a step, if that can be done in short."""
            ref, book = books.get(id(optimizer), unknown)
            if ref() is not optimizer or book.site is None or self.in_pass or ident() != main:
                return False
            frame, site = frame_at(3), book.site
            key = site.key
            if not key:
                return False
            if key[1] != frame.f_lasti or key[0].code is not frame.f_code:
                frame = frame.f_back  # a schedule of learning rates stands between
                if frame is None or key[1] != frame.f_lasti or key[0].code is not frame.f_code:
                    return False
            self.left -= 1
            site.count += 1
            book.steps += 1
            ledger.steps += 1
            ledger.clock = when = ledger.clock + 1
            ledger.short((when, site, site.count, peek(), size() + log.dropped, book))
            return True

        return begin_step

    def _whole(self, short: tuple[Any, ...]) -> PassNote | StepNote:
        """The note that a short one stands for."""
        when, site, iteration, number, position, *rest = short
        if len(rest) == 1:
            step = StepNote(when, site.key, number, position)
            step.iteration, step.book, step.followed = iteration, rest[0], False
            return step
        retain, kwargs = rest
        kind = "backward" if kwargs.get("accumulate_grad", True) else "grad"
        note = PassNote(when, kind, site.key, self._main or 0, number, position)
        note.roots, note.retain = (number - site.offset,), bool(retain)
        note.iteration, note.followed = iteration, False
        return note
