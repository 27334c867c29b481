# SPDX-License-Identifier: BSD-3-Clause
"""Short notes, for programs whose steps take milliseconds: there a full note of every pass would be felt.

NOTE [ When a note may be short ]
1. Only after the first passes, between the windows in which gradients are followed (see the watcher), and only while steps
   come so fast that names would hardly ever be looked at anyway.
2. A short note is one number: the next node's and, in its last bits, the kind (which site, which optimizer, whether the
   graph is kept). No look, no following. Notes are entered into the ledger when somebody asks (`settle`), and become full
   ones there (`whole`): what is counted, they count then.
3. What is not plain (another thread, a pass within a pass, several roots, given inputs, `create_graph`, a site that is new)
   gets a full note. So nodes that a plain pass builds itself are taken for later ones.
4. Which node a pass starts from is not asked (PyTorch would make an object of it): at a site where the root has always been
   equally far from the pass, it is taken to be so again. At other sites notes are full.
5. The frames of a pass are told by the two innermost; the others are taken from the last full note there. Of a step only
   the innermost is ever told.
6. They are written where passes and steps come in: see `patched_calls`.
"""

from __future__ import annotations

import threading
import time
from array import array
from itertools import repeat
from types import CodeType, FrameType
from typing import Any

from .files import Files
from .gradients import Gradients
from .ledger import Ledger, PassNote, Site, StepNote

__all__ = ["BITS", "Steady"]

_FAST = 0.03
_KNOWN = 8
BITS = 12
_MASK = (1 << BITS) - 1
_KINDS = 1 << (BITS - 1)


class Steady:
    """Notes in short what is plain, and enters that into a ledger when somebody asks."""

    __slots__ = (
        "_ended", "_files", "_gradients", "_kinds", "_ledger", "_lock",
        "between", "in_pass", "left", "main", "numbers", "passes", "places", "steps",
    )  # fmt: skip

    def __init__(self, files: Files, ledger: Ledger, gradients: Gradients) -> None:
        self.left = 0
        """How many passes and steps will still be noted in short."""
        self.in_pass = False
        """Whether a pass that was noted in short is under way."""
        self.main = threading.main_thread().ident
        self.numbers, self.places = array("Q"), array("Q")
        """The notes that are not entered yet: the number of the next node and the kind; where the log, if any, stood."""
        self.passes: dict[int, tuple[Any, ...]] = {}
        """By the instruction of a pass: its code, its caller's, the caller's instruction, and the kind."""
        self.steps: dict[int, tuple[Any, ...]] = {}
        """By the instruction of a step: its code, a weak reference to the optimizer, and the kind."""
        self.between: CodeType | None = None
        """The function that a schedule of learning rates puts between the user and the step."""
        self._kinds: list[tuple[Site, Any]] = []
        self._files, self._ledger, self._gradients = files, ledger, gradients
        self._ended = 0.0
        self._lock = threading.Lock()
        ledger.whole, ledger.settle = self._whole, self.settle

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
        return self._ledger.make_whole()

    def within_pass(self) -> bool:
        """Whether this is a pass within one that was noted in short."""
        return self.in_pass and threading.get_ident() == self.main

    # -- kinds -----------------------------------------------------------------------------------------------------

    def kind_of_pass(self, inner: FrameType, frame: FrameType, caller: FrameType) -> int:
        """The kind of a pass that is not the one that began at this instruction last time; -1 if it is not plain."""
        site = self._ledger.pass_sites.get(self._files.key(inner))
        if site is None or site.steady < _KNOWN or site.kind != "backward":
            return -1
        kind = self._kind(site, None)
        if kind >= 0 and self._files.mine(frame.f_code) and not self._files.mine(inner.f_code):
            self.passes[frame.f_lasti] = frame.f_code, caller.f_code, caller.f_lasti, kind
        return kind

    def kind_of_step(self, optimizer: Any, frame: FrameType | None) -> int:
        """The kind of a step that is not the one that was made at this instruction last time; -1 if it is not plain."""
        ref, book = self._gradients.by_identity.get(id(optimizer), (None, None))
        if ref is None or book is None or ref() is not optimizer or book.site is None or not book.site.key:
            return -1
        known, instruction, *_ = book.site.key
        library = []
        while frame is not None and not self._files.mine(frame.f_code):
            library.append(frame.f_code)
            frame = frame.f_back
        if len(library) == 1:
            (self.between,) = library
        if frame is None or frame.f_code is not known.code or frame.f_lasti != instruction:
            return -1
        kind = self._kind(book.site, book)
        if kind >= 0:
            self.steps[frame.f_lasti] = frame.f_code, ref, kind
        return kind

    def _kind(self, site: Site, book: Any) -> int:
        for number, (known, owner) in enumerate(self._kinds):
            if known is site and owner is book:
                return number << 1
        if len(self._kinds) >= _KINDS:  # a program that makes optimizers without end
            self.settle()
            if self.numbers:
                return -1  # somebody else is at it
            self._kinds = []
            self.passes.clear()
            self.steps.clear()
        self._kinds.append((site, book))
        return (len(self._kinds) - 1) << 1

    # -- notes -----------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Enters what was noted since."""
        # Never waits: whoever settles now does it for all.
        if not self.numbers or not self._lock.acquire(blocking=False):
            return
        try:
            count = len(self.numbers)
            numbers, places, kinds = self.numbers[:count], self.places[:count] or repeat(0), self._kinds
            del self.numbers[:count], self.places[:count]
            self._ledger.add_short(
                (*kinds[(number & _MASK) >> 1], number >> BITS, place, number & 1 == 1)
                for number, place in zip(numbers, places, strict=False)
            )
        finally:
            self._lock.release()

    def _whole(self, short: tuple[Any, ...]) -> PassNote | StepNote:
        """The note that a short one stands for."""
        when, site, iteration, number, position, rest = short
        if not isinstance(rest, bool):
            step = StepNote(when, site.key, number, position)
            step.iteration, step.book = iteration, rest
            return step
        note = PassNote(when, site.kind, site.key, self.main or 0, number, position)
        note.roots, note.retain = (number - site.offset,), rest
        note.iteration = iteration
        return note
