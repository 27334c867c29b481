# SPDX-License-Identifier: BSD-3-Clause
"""The watcher: one patched function, PyTorch's optimizer hooks, and notes.

NOTE [ It must not hurt ]
1. Everything of ours that runs inside the user's program runs under `guarded`: a fault becomes one line on stderr, the
   watcher goes to sleep, and the program goes on.
2. Between events nothing of the user's is referenced: notes hold numbers, names and call sites.
3. Passes that our own code runs are not seen (`quiet`).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.compiler import is_dynamo_compiling
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from ..torchgraph import Leaves
from .checkpoints import Checkpoints
from .files import Files
from .gradients import Gradients
from .ledger import Ledger, PassNote, StepNote
from .log import Log
from .looks import Looks
from .makers import maker
from .patched_calls import pass_entrance, step_entrance
from .reducers import ForwardNote, Reducers, Refused
from .short_notes import Steady

__all__ = ["Watcher"]

# Gradients are followed through the first passes, and later through a few steps of every so many.
_FOLLOWED, _EVERY, _WINDOW = 128, 64, 4
_LONG = 1024
_IDLE = 2
_DIGESTS = 8
_peek = torch.autograd._get_sequence_nr  # type: ignore[attr-defined]


class _Thread(threading.local):
    """What one thread is in the middle of."""

    def __init__(self) -> None:
        self.passes = 0
        """How many passes, one inside the other."""
        self.step: StepNote | None = None


class Watcher:
    """Watches the passes of this process from `start` to `stop`."""

    def __init__(self, root: Path | None = None, log: Log | None = None) -> None:
        self.files = Files(root)
        self.log = log
        self.ledger = Ledger()
        self.leaves = Leaves()
        self.gradients = Gradients(self.leaves)
        self.reducers = Reducers(self.files, self.leaves)
        self.checkpoints = Checkpoints(self.files, self.leaves)
        self.looks = Looks(self.files, self.ledger, self.leaves, self.gradients, self.reducers)
        self.steady = Steady(self.files, self.ledger, self.gradients)
        self.asleep = False
        self.frozen = False
        """Whether the frames that were under way at the beginning stay at their statement until the watch ends (that of a
        framework's callback does): then nothing happens in them that a log with marks in functions only would miss."""
        self.began = 0
        """Where the log stood."""
        self.on_failure: Callable[[Any, BaseException], None] | None = None
        self.on_refusal: Callable[[Refused, BaseException], None] | None = None
        self.on_pass: Callable[[PassNote, Any, Any], None] | None = None
        self.on_left: Callable[[PassNote], None] | None = None
        """Hears of the end of each of them that went well."""
        self.modules: Any = None
        """Which module built which node, where somebody records that (see `see.modules`)."""
        self.brief = True
        """Whether notes may be short; `on_pass` hears only of passes that are noted in full."""
        self.thread = _Thread()
        self._handles: list[Any] = []
        self.original: Any = None
        self._wrapper: Any = None
        self._following = True
        self._closures = False
        """Whether some optimizer runs passes in its steps."""

    # -- coming and going ------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Puts the watcher in place."""
        if self._handles:
            return
        self.began = self.log.position() if self.log is not None else 0
        self.original = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        self._wrapper = pass_entrance(self)
        torch.autograd._engine_run_backward = self._wrapper  # type: ignore[attr-defined]
        self._handles = [
            register_optimizer_step_pre_hook(step_entrance(self)),
            register_optimizer_step_post_hook(self._after_step),
        ]
        self.reducers.start(self)
        self.checkpoints.start(self)

    def stop(self) -> None:
        """Takes everything away again; another watcher that began later stays in place."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self.reducers.stop()
        self.checkpoints.stop()
        self.steady.reset()
        top = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
        if top is self._wrapper:
            torch.autograd._engine_run_backward = self.original  # type: ignore[attr-defined]
        while (other := getattr(top, "watcher", None)) is not None:
            if other.original is self._wrapper:
                other.original = self.original
            top = other.original

    @property
    def awake(self) -> bool:
        return bool(self._handles) and not self.asleep

    def guarded(self, function: Callable[..., Any], *args: Any) -> Any:
        try:
            return function(*args)
        except Exception as error:
            self.fault(error)
            return None

    def fault(self, error: Exception) -> None:
        if os.environ.get("SECONDPASS_DEBUG"):
            raise error
        if not self.asleep:
            self.asleep, self.steady.left = True, 0
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        try:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            at = f" ({Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno})" if where else ""
            what = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
            print(f"secondpass: stopped watching after a fault of its own: {what}{at}", file=sys.stderr)
        except Exception:
            pass

    # -- passes ----------------------------------------------------------------------------------------------------

    def enter(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> PassNote | None:
        if torch._C._len_torch_dispatch_stack() and torch._guards.TracingContext.try_get() is not None:
            return None  # a compiler is tracing a backward: no pass of the program's
        with torch._C.DisableTorchFunction():  # what is read off tensors is nobody's operation
            return self._enter(outputs, args, kwargs, sys._getframe(3))

    def _enter(self, outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> PassNote:
        mine, ledger = self.thread, self.ledger
        depth = mine.passes + self.steady.within_pass()
        site = ledger.site(self.files.key(frame), ledger.pass_sites)
        site.kind = "backward" if kwargs.get("accumulate_grad", True) else "grad"
        note = PassNote(
            ledger.tick(),
            site.kind,
            site.key,
            threading.get_ident(),
            _peek(),
            self.log.position() if self.log is not None else 0,
        )
        mine.passes += 1
        if depth:
            note.nested = True
            made_by = maker(frame)
            note.maker = (made_by._sequence_nr(), made_by.name()) if made_by is not None else None
        if args[1]:
            note.retain = True
            note.direct = self.files.called_directly(frame)
        if args[2]:
            note.create = True
        note.iteration = site.count
        note.recording = torch.is_grad_enabled()
        roots = outputs if isinstance(outputs, (list, tuple)) else (outputs,)
        note.roots = tuple([self.leaves.behind(r) for r in roots])
        parts = tuple([r.output_nr for r in roots])
        if any(parts):
            note.outputs = parts
        if any(torch.is_tensor(r) and r.numel() != 1 for r in roots):
            note.given = tuple(map(id, args[0]))
        site.root(
            note.entry - note.roots[0] if len(note.roots) == 1 and 0 <= note.roots[0] <= note.entry else -site.count
        )
        inputs = args[3] if len(args) > 3 and args[3] else ()
        if inputs:
            note.inputs = tuple([self.leaves.behind(i) for i in inputs])
        if mine.step is not None:
            self._closures = True
            mine.step.passes += (note.when,)
        if self.looks.worth(note):
            self.looks.look(note, frame, roots, inputs)
        if self._following:
            if self.gradients.hand and mine.step is None and not note.nested:
                self._stepped_by_hand(note)
            note.followed = True
            note.found, note.versions, note.cleared = self.gradients.pass_begins()
        if self.reducers.modules:
            note.handed = self.reducers.before()
        ledger.add(note)
        if self.on_pass is not None:
            self.on_pass(note, outputs, args[0])
        return note

    def _stepped_by_hand(self, note: PassNote) -> None:
        found = self.gradients.stepped_by_hand()
        if found is not None:
            step = StepNote(note.when, note.key, note.entry, note.position)
            step.hand, step.used = found
            step.moved, step.followed, step.thread = step.hand, True, note.thread
            note.when = self.ledger.tick()
            self.ledger.add(step)

    def leave(self, note: PassNote) -> None:
        self.thread.passes -= 1
        note.exit = _peek()
        if note.handed:
            note.reduced = self.reducers.after(note.handed, nested=note.nested)
        if note.followed:
            with torch._C.DisableTorchFunction():
                note.filled = self.gradients.pass_ends(note.when)
        if self.on_left is not None:
            self.on_left(note)

    def failed(self, note: Any, outputs: Any, args: tuple[Any, ...], error: BaseException) -> None:
        if note is self.steady:
            note = self.steady.failed()
        else:
            self.thread.passes -= 1
        note.exit = _peek()
        note.outcome = "failed"
        if note.handed:
            note.reduced = self.reducers.after(note.handed, nested=note.nested)
        if isinstance(error, RuntimeError) and self.on_failure is not None:
            from .failure import Failed

            with torch._C.DisableTorchFunction():
                self.on_failure(Failed(note, outputs, args, error, sys._getframe(3)), error)

    def refused(self, module: Any, note: ForwardNote | None, error: BaseException) -> None:
        """A forward of a module that averages over ranks has raised."""
        from .failure import kind_of

        kind = kind_of(error)
        if kind != "unfinished-reduction" or self.on_refusal is None or not self.awake:
            return
        if note is None:
            note = self.reducers.begins(module, self.log.position() if self.log is not None else 0, sys._getframe(2))
        if note is not None:
            self.on_refusal(Refused(self, note, error, kind), error)

    # -- steps -----------------------------------------------------------------------------------------------------

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # The end of a step that was noted in short is nothing to us. (The hook stays: to take it away from inside the loop
        # over the hooks would break that loop for those that come after it.)
        if not is_dynamo_compiling() and self.thread.step is not None and not self.asleep:
            self.guarded(self._step_ends, optimizer)

    def step_begins(self, optimizer: Any) -> None:
        ledger = self.ledger
        book = self.gradients.book(optimizer)
        book.site = ledger.site(self.files.key(sys._getframe(3)), ledger.step_sites)
        note = StepNote(ledger.tick(), book.site.key, _peek(), self.log.position() if self.log is not None else 0)
        note.iteration = book.site.count
        note.book, note.thread = book, threading.get_ident()
        if book.first is None:
            book.first = note.when
        if self._following:
            with torch._C.DisableTorchFunction():
                note.followed = True
                note.used, note.cleared = self.gradients.step_begins(book)
            if book.idle == _IDLE:
                self.looks.curious = 2  # whom do the passes reach, if not what this optimizer owns?
        ledger.add(note)
        self.thread.step = note

    def _step_ends(self, optimizer: Any) -> None:
        step, self.thread.step = self.thread.step, None
        assert step is not None
        every = _EVERY if self.ledger.steps < _LONG else 8 * _EVERY
        follow = self.ledger.passes <= _FOLLOWED or self.ledger.steps % every < _WINDOW
        if self.steady.fast() and self.brief and self.ledger.settled and not follow and not self._closures:
            # As many as there are before the next window, at one pass to a step; the step that is then noted in full sees.
            self.steady.left = 2 * (every - 1 - self.ledger.steps % every)
        if follow and not self._following:
            self.gradients.forget()
        self._following = follow
        if step.followed:
            with torch._C.DisableTorchFunction():
                step.moved = self.gradients.step_ends(optimizer, step.book)
                if self.reducers.alone and step.book.digests < _DIGESTS:
                    step.digest = step.book.digest()
        else:
            step.book.steps += 1
