# SPDX-License-Identifier: BSD-3-Clause
"""What happens to gradients between passes and steps, told from the gradients themselves.

NOTE [ Following gradients without patching zero_grad ]
1. People clear gradients in many ways: `zero_grad()` of an optimizer or a module, `p.grad = None`, `p.grad.zero_()`,
   `p.grad.data.zero_()`. So the state of `.grad` is compared, not the calls that change it.
2. A gradient's state is its address and version. The same state at the end of a step and at the beginning of the next
   pass means that nobody cleared it in between; `p.grad.data.zero_()` moves no version, so the first few times the
   value is looked at too.
3. A gradient that is applied twice has the same values; for the first steps two numbers of it are compared.
4. Not every step is followed (see the watcher): a step or pass that was not says so, and counts for nothing.
5. Only a few parameters of each optimizer are followed. Those that never had a gradient are followed until they get
   one.
6. A gradient is read only by the thread that steps with it. Another thread's pass replaces gradients while it runs
   outside the interpreter's lock: to read one then would be to crash.
"""

from __future__ import annotations

import weakref
from collections import deque
from threading import get_ident
from typing import Any

import torch

from .events import Site
from .graph import Leaves

__all__ = ["Grads"]

_FOLLOWED = 4
_LOOKS = 16
_SAMPLE = 65_536
_CLOSED = 256


class _Book:
    """What is known of one optimizer."""

    def __init__(self, optimizer: torch.optim.Optimizer, leaves: Leaves) -> None:
        # All of them: what is frozen now may be trained later.
        wanted = [p for group in optimizer.param_groups for p in group["params"]]
        self.every = tuple(leaves.number(p) for p in wanted)
        chosen = _spread(optimizer.param_groups)
        self.followed = [(leaves.number(p), weakref.ref(p)) for p in chosen]
        self.never = {leaves.number(p): weakref.ref(p) for p in wanted}
        self.applied: dict[int, tuple[float, float]] = {}
        """Digests of the gradients that the last step applied."""
        self.uncleared: set[int] = set()
        self.before: dict[int, tuple[int, int] | None] = {}
        self.state: dict[int, tuple[int, int]] = {}
        self.filled: set[int] = set()
        self.passes = 0
        self.steps = 0
        self.thread = get_ident()
        self.versions: dict[int, int] = {}
        """How often the leaves had been changed when the last pass inside a step ended."""
        self.dry = 0
        """How many steps running came after passes that had filled none of its gradients."""
        self.followed_steps = 0
        """At how many of them the gradients were looked at: before two, nobody knows what never has one."""
        self.looks = _LOOKS
        self.digests = 2 * _LOOKS
        self.name = type(optimizer).__name__
        self.first: int | None = None
        """When its first step was."""
        self.site: Site | None = None
        """Where the last step was that was noted in full."""

    def forget(self) -> None:
        self.uncleared.clear()
        self.filled.clear()
        self.before.clear()
        self.state.clear()
        self.applied, self.passes = {}, 0

    def grads(self) -> list[tuple[int, torch.Tensor | None]]:
        return [(n, p.grad) for n, ref in self.followed if (p := ref()) is not None]


def _spread(groups: list[dict[str, Any]]) -> list[torch.Tensor]:
    """A few parameters that stand for all: the last of each group (what is added to a model comes last), and some
    from beginning to end."""
    every = [p for group in groups for p in group["params"]]
    last = [group["params"][-1] for group in groups[-_FOLLOWED // 2 :] if group["params"]]
    even = [every[i * (len(every) - 1) // (_FOLLOWED - 1)] for i in range(_FOLLOWED)] if every else []
    return list({id(p): p for p in (*last, *even)}.values())[:_FOLLOWED]


class _Hand:
    """What is known of a leaf that no optimizer owns, as the last pass left it."""

    __slots__ = ("looks", "ref", "state", "thread", "values", "version")

    def __init__(self, ref: Any) -> None:
        self.ref = ref
        self.thread = get_ident()
        self.version: int | None = None
        self.state: tuple[int, int] | None = None
        self.values: tuple[float, float] | None = None
        """Two numbers of the leaf's own values: a change through `.data` moves no version."""
        self.looks = _LOOKS

    def moved(self, leaf: torch.Tensor) -> bool:
        """Whether somebody has changed the leaf since the last pass."""
        if self.version is None or leaf._version > self.version:
            return self.version is not None
        return self.values is not None and _numbers(leaf.detach()) != self.values

    def note(self, leaf: torch.Tensor) -> None:
        """What the leaf is like at the end of a pass."""
        self.version = leaf._version
        self.state = _state(leaf.grad) if leaf.grad is not None else None
        self.values = _numbers(leaf.detach()) if self.looks > 0 and leaf.grad is not None else None
        self.looks -= 1


def _state(grad: torch.Tensor) -> tuple[int, int]:
    try:
        return grad.data_ptr(), grad._version
    except RuntimeError:  # sparse, fake or wrapped: there is no address
        return id(grad), 0


def _readable(grad: torch.Tensor) -> bool:
    """Whether the values may be looked at: not where that would be seen, cost a collective or spoil a capture."""
    if type(grad) is not torch.Tensor or grad.is_meta or grad.layout is not torch.strided:
        return False
    if torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack():
        return False
    return not (grad.is_cuda and torch.cuda.is_current_stream_capturing())


def _sample(grad: torch.Tensor) -> torch.Tensor:
    """A part of a gradient that is small enough to be copied, spread over its first dimensions."""
    part = grad.detach()
    while part.dim() and part.numel() > _SAMPLE:
        part = part[:: -(-part.numel() // _SAMPLE)] if len(part) > 1 else part[0]
    return part


def _numbers(values: torch.Tensor) -> tuple[float, float] | None:
    """Two numbers that tell tensors apart."""
    if not _readable(values):
        return None
    flat = _sample(values).double()
    return float(flat.sum()), float(flat.abs().sum())


class Grads:
    """Follows the gradients of every optimizer that has stepped or been seen."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves
        self.by_identity: dict[int, tuple[Any, _Book]] = {}
        self.hand: dict[int, _Hand] = {}
        self._closed: deque[_Book] = deque(maxlen=_CLOSED)
        """The books of optimizers that are gone: no longer followed, but still to be told of."""

    def book(self, optimizer: torch.optim.Optimizer) -> _Book:
        """The book of an optimizer, opened at the first sight of it."""
        entry = self.by_identity.get(id(optimizer))
        if entry is not None and entry[0]() is optimizer:
            return entry[1]
        book = _Book(optimizer, self._leaves)
        key = id(optimizer)
        self.by_identity[key] = (weakref.ref(optimizer, lambda ref: self._close(key, ref)), book)
        return book

    def _close(self, key: int, ref: Any) -> None:
        entry = self.by_identity.get(key)
        if entry is not None and entry[0] is ref:
            del self.by_identity[key]
            self._closed.append(entry[1])

    def by_hand(self, number: int, leaf: torch.Tensor) -> None:
        """Follows a leaf that no optimizer owns: some people write their own steps."""
        if len(self.hand) < _FOLLOWED and not any(number in book.every for book in self.books()):
            self.hand.setdefault(number, _Hand(weakref.ref(leaf)))

    def stepped_by_hand(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Called when a pass begins: which followed leaves were changed since the last one, and which of them still
        have
        the gradient that was applied."""
        moved, piled = [], []
        for number, hand in self.hand.items():
            leaf = hand.ref()
            if leaf is None or hand.thread != get_ident() or not hand.moved(leaf):
                continue
            moved.append(number)
            grad = leaf.grad
            if grad is not None and _state(grad) == hand.state and (not _readable(grad) or bool(grad.any())):
                piled.append(number)
        return (tuple(moved), tuple(piled)) if moved else None

    def forget(self) -> None:
        """Begins anew: what was known of gradients is out of date after steps that were not followed."""
        for _, book in list(self.by_identity.values()):
            book.forget()
        for hand in self.hand.values():
            hand.version = hand.state = hand.values = None

    def pass_begins(self) -> bool:
        """Says whether the gradients of the pass before were cleared without any step having used them."""
        wasted = False
        books = self._own()
        for book in books:
            if book.passes and book.filled and all(g is None for n, g in book.grads() if n in book.filled):
                wasted = not any(other.passes == 0 and other.steps for other in books)
                book.filled.clear()
        self._compare(books)
        return wasted

    def _own(self) -> list[_Book]:
        """The books of this thread. Its passes may fill the others' gradients too, so these are no longer known."""
        here, own = get_ident(), []
        for _, book in list(self.by_identity.values()):
            if book.thread == here:
                own.append(book)
            else:
                book.forget()
                book.passes = 1
        return own

    def _compare(self, books: list[_Book]) -> None:
        for book in books:
            for number, grad in book.grads():
                if number in book.uncleared and not self._same(book, number, grad):
                    book.uncleared.discard(number)
                book.before[number] = None if grad is None else _state(grad)

    def _same(self, book: _Book, number: int, grad: torch.Tensor | None) -> bool:
        if grad is None or _state(grad) != book.state.get(number):
            return False
        if book.looks > 0:  # rule 2
            book.looks -= 1
            return not _readable(grad) or bool(grad.any())
        return True

    def pass_ends(self) -> None:
        for hand in self.hand.values():
            leaf = hand.ref()
            if leaf is not None and hand.thread == get_ident():
                hand.note(leaf)
        for book in self._own():
            book.passes += 1
            for number, grad in book.grads():
                if grad is not None:
                    state = _state(grad)
                    if book.before.get(number) != state:
                        book.filled.add(number)
                    book.state[number] = state

    def step_begins(self, optimizer: torch.optim.Optimizer) -> dict[str, tuple[int, ...]]:
        """What a step finds: followed leaves that are empty, stale or piled up."""
        book = self.book(optimizer)
        book.followed_steps += 1
        book.thread = get_ident()
        for number in self.hand.keys() & set(book.every) if self.hand else ():
            del self.hand[number]
        for number, ref in list(book.never.items()):
            leaf = ref()
            if leaf is None or leaf.grad is not None or not leaf.requires_grad:
                del book.never[number]
        book.dry = book.dry + 1 if book.passes and not book.filled else 0
        empty, zero, stale, piled = [], [], [], []
        for number, grad in book.grads():
            if grad is None:
                if number in book.filled:
                    empty.append(number)
            elif number in book.filled and self._wiped(book, number, grad):
                zero.append(number)
            elif book.steps and number not in book.filled and self._applied(book, number, grad):
                stale.append(number)
            elif number in book.filled and number in book.uncleared and _state(grad)[0] == book.state[number][0]:
                piled.append(number)  # in other memory it would be a gradient that the user has put there
        # A gradient may be zero by itself: only zeros all over say that somebody has put them there.
        if len(empty) + len(zero) == len(book.filled):
            empty += zero
        return {"empty": tuple(empty), "stale": tuple(stale), "piled": tuple(piled)}

    def _applied(self, book: _Book, number: int, grad: torch.Tensor) -> bool:
        """Whether a gradient that no pass has touched is the one that the last step applied."""
        if book.passes:  # passes through other parameters
            return number in book.uncleared and _state(grad) == book.state.get(number)
        return bool(book.applied) and book.applied.get(number) == self._digest(book, grad)

    @staticmethod
    def _digest(book: _Book, grad: torch.Tensor) -> tuple[float, float] | None:
        """Two numbers that tell gradients apart; None once there have been enough looks, and for one that is all
        zero."""
        if book.digests <= 0:
            return None
        book.digests -= 1
        numbers = _numbers(grad)
        return numbers if numbers is not None and numbers[1] else None

    def _wiped(self, book: _Book, number: int, grad: torch.Tensor) -> bool:
        """Whether a gradient that a pass had filled is all zeros again."""
        if book.looks <= 0 or _state(grad) == book.state.get(number) or not _readable(grad):
            return False
        book.looks -= 1
        return not bool(grad.any())

    def pass_inside(self, book: _Book) -> tuple[int, ...]:
        """Called when a pass begins inside a step (a closure): the leaves that the step has moved since the pass before,
        and whose gradient of then is still there."""
        piled = []
        for number, ref in book.followed:
            leaf = ref()
            if leaf is None or leaf.grad is None or leaf._version <= book.versions.get(number, leaf._version):
                continue
            if _state(leaf.grad) == book.state.get(number) and (not _readable(leaf.grad) or bool(leaf.grad.any())):
                piled.append(number)
        return tuple(piled)

    def passed_inside(self, book: _Book) -> None:
        """Called when such a pass has ended."""
        book.versions = {n: leaf._version for n, ref in book.followed if (leaf := ref()) is not None}

    def step_ends(self, optimizer: torch.optim.Optimizer) -> None:
        book = self.book(optimizer)
        book.steps += 1
        # Before the next step the same values may come again in other memory (`p.grad = old.clone()`): rule 3.
        again = {n: d for n, g in book.grads() if g is not None and (d := self._digest(book, g)) is not None}
        book.applied = again
        book.passes = 0
        book.filled.clear()
        now = {n: _state(g) for n, g in book.grads() if g is not None}
        book.uncleared = set(now)
        book.state.update(now)

    def books(self) -> list[_Book]:
        """Every optimizer that was seen."""
        return [*self._closed, *(book for _, book in list(self.by_identity.values()))]
