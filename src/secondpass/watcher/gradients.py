# SPDX-License-Identifier: BSD-3-Clause
"""What every gradient is made of: which passes have filled it since it was cleared, and which step used it.

NOTE [ Following gradients without patching zero_grad ]
1. People clear gradients in many ways: `zero_grad()` of an optimizer or a module, `p.grad = None`, `p.grad.zero_()`,
   `p.grad.data.zero_()`. So the state of `.grad` is compared, not the calls that change it.
2. A gradient's state is its address and version. What a pass changes, it has filled. What changed otherwise was cleared if
   it is gone or all zeros (unless a pass left it so), scaled (clipped, unscaled) if it is the same memory, and somebody's
   own if it is other memory.
3. Values are read from memory, not by operations: nothing that watches operations (a profiler, a mode, fake tensors) sees
   us. On a device they are not read at all; where only they could tell, the gradient's origin is not known any more.
4. Not every step is followed (see the watcher): what was not followed says so by having looked at no leaf.
5. Only a few parameters of each optimizer are followed. Those that never had a gradient are followed until they get one.
6. A gradient is read only by the thread that steps with it. Another thread's pass replaces gradients while it runs
   outside the interpreter's lock: to read one then would be to crash.
"""

from __future__ import annotations

import ctypes
import weakref
import zlib
from collections import deque
from collections.abc import Iterable
from threading import active_count, get_ident
from typing import Any

import torch

from ..record import Gradient
from ..torchgraph import Leaves
from .ledger import Site

__all__ = ["Book", "Gradients", "Used"]

_FOLLOWED = 4
_WHOLE, _SAMPLE = 1 << 23, 1 << 16
"""Gradients up to this many bytes are looked at whole when the question is whether they are zero; of larger ones a part."""
_LOOKS = 16
_CLOSED = 256

State = tuple[int, int] | None
"""A gradient's address and version; None where there is no gradient."""
Used = dict[int, Gradient | None]


def _state(grad: torch.Tensor | None) -> State:
    if grad is None:
        return None
    try:
        return grad.data_ptr(), grad._version
    except RuntimeError:  # sparse, fake or wrapped: there is no address
        return id(grad), 0


def _bytes(tensor: torch.Tensor, most: int) -> bytes | None:
    """The first bytes of a tensor's values; None where they cannot be read without an operation (rule 3)."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.device.type != "cpu":
        return None
    if tensor.layout is not torch.strided or not tensor.is_contiguous() or tensor.is_neg() or tensor.is_conj():
        return None
    try:
        address = tensor.data_ptr()
    except RuntimeError:  # a wrapper that looks like a plain tensor: of a transformation, of fake tensors
        return None
    return ctypes.string_at(address, min(most, tensor.numel() * tensor.element_size())) if address else None


def bits(value: object) -> int | None:
    """The bits of a single number; None where they cannot be read without an operation (rule 3)."""
    if not isinstance(value, torch.Tensor) or type(value) is not torch.Tensor or value.numel() != 1:
        return None
    found = _bytes(value, 16)
    return int.from_bytes(found, "little") if found is not None else None


def _is_zero(grad: torch.Tensor) -> bool | None:
    """Whether a gradient is all zeros; None where that cannot be told."""
    # An embedding's gradient has zeros in front: a few looks spare most of the whole one.
    start = _bytes(grad, 64)
    if start is None or start.strip(b"\0"):
        return None if start is None else False
    size = grad.numel() * grad.element_size()
    for k in range(1, _LOOKS + 1):
        if ctypes.string_at(grad.data_ptr() + max(0, size - 64) * k // _LOOKS, min(64, size)).strip(b"\0"):
            return False
    values = _bytes(grad, _WHOLE)
    if values is None or values.strip(b"\0"):
        return None if values is None else False
    return True if size <= _WHOLE else None


def _digest(tensor: torch.Tensor) -> int | None:
    """A number that tells values apart; None where they cannot be read."""
    values = _bytes(tensor, _SAMPLE)
    return None if values is None else zlib.crc32(values)


def _is_constant(tensor: torch.Tensor) -> bool:
    """Whether all values (of a sample) are one and the same, as those of many layers are at first."""
    values, size = _bytes(tensor, _SAMPLE) or b"", tensor.element_size()
    return values == values[:size] * (len(values) // size)


class Book:
    """What is known of one optimizer, or (without one) of leaves that the user's own code moves."""

    def __init__(self, name: str, parameters: list[torch.Tensor], followed: list[torch.Tensor], leaves: Leaves) -> None:
        self.name = name
        self.kind = name.partition(" ")[0]
        # All of them: what is frozen now may be trained later.
        self.every = tuple(leaves.number(p) for p in parameters)
        self.followed = [(leaves.number(p), weakref.ref(p)) for p in followed]
        self.bare = {leaves.number(p): weakref.ref(p) for p in parameters}
        """Those that have had no gradient at any step so far."""
        self.given: set[int] = set()
        """Of `bare`: those that had a gradient when a pass ended."""
        self.first_values: dict[int, tuple[int, int | None]] = {}
        """Of `bare` before the first step: version and digest."""
        self.copies: set[int] = set()
        """Of `bare`: those that had the values of another leaf then."""
        self.made_of: Used = {}
        self.state: dict[int, State] = {}
        self.naught: set[int] = set()
        """The leaves whose gradient was zero when the last pass that filled it ended: at a minimum, under a dead unit."""
        self.applied: dict[int, tuple[int, Gradient]] = {}
        """Digests of the gradients that the last step applied, and what they were made of."""
        self.versions: dict[int, int] = {}
        self.values: dict[int, int | None] = {}
        # Whose it is shows when it steps; seen from one thread of several, it may be another's (rule 6).
        self.thread = get_ident() if not name or active_count() == 1 else None
        self.steps = 0
        self.looked = 0
        """At how many of its steps the gradients were looked at: before two, nobody knows what never has one."""
        self.idle = 0
        """How many steps running came after passes that had filled none of its gradients."""
        self.passed = False
        self.filled = False
        self.first: int | None = None
        """When its first step was."""
        self.digests = 0
        self.site: Site | None = None
        """Where the last step was that was noted in full."""

    def live(self) -> list[tuple[int, torch.Tensor]]:
        return [(n, p) for n, ref in self.followed if (p := ref()) is not None]

    def forget(self) -> None:
        """What was known is out of date."""
        self.made_of.clear()
        self.state.clear()
        self.naught.clear()
        self.applied.clear()
        self.versions.clear()
        self.values.clear()
        self.passed = self.filled = False

    def compare(self) -> tuple[int, ...]:
        """Looks at the gradients between two events; returns the leaves whose gradient was cleared (rule 2)."""
        cleared = []
        for number, leaf in self.live():
            grad = leaf.grad
            before, now = self.state.get(number, (-1, -1)), _state(grad)
            known = self.made_of.get(number)
            if grad is None:
                made: Gradient | None = ()
            elif number in self.naught and before is not None and now is not None and before[0] == now[0]:
                made = known
            elif before == now:
                # `p.grad.data.zero_()` moves no version.
                made = () if known and _is_zero(grad) else known
            elif _is_zero(grad):
                made = ()
            elif before is not None and now is not None and before[0] == now[0]:
                made = known if _is_zero(grad) is False else None
            else:
                digest, last = _digest(grad), self.applied.get(number)
                made = last[1] if last is not None and digest is not None and digest == last[0] else None
            if known and not made and made is not None:
                cleared.append(number)
            self.made_of[number], self.state[number] = made, now
        return tuple(cleared)

    def fill(self, when: int) -> list[int]:
        """A pass has ended: what it changed, it filled."""
        filled = []
        for number, leaf in self.live():
            now = _state(leaf.grad)
            if now is not None and now != self.state.get(number, (-1, -1)):
                known = self.made_of.get(number)
                self.made_of[number] = None if known is None else (*known, when)
                self.state[number] = now
                filled.append(number)
                (self.naught.add if leaf.grad is not None and _is_zero(leaf.grad) else self.naught.discard)(number)
        self.passed = True
        self.filled = self.filled or bool(filled)
        return filled

    def digest(self) -> int | None:
        """A number that tells the values of the followed leaves from others: asked only where ranks may have come to differ,
        and so on a device too."""
        self.digests += 1
        found = 0
        for _, leaf in self.live():
            values = leaf.detach()
            if values.device.type != "cpu":
                values = values.flatten()[: _SAMPLE // 4].cpu()
            one = _digest(values)
            if one is None:
                return None
            found = zlib.crc32(one.to_bytes(4, "little"), found)
        return found

    def note_bare(self, others: list[torch.Tensor]) -> None:
        """Notes the values of leaves without a gradient, and which of them are a copy of another leaf's."""
        sizes = {p.shape for ref in self.bare.values() if (p := ref()) is not None}
        alike = {(p.shape, _digest(p)) for p in others if p.shape in sizes}
        for number, ref in self.bare.items():
            leaf = ref()
            if leaf is not None:
                digest = _digest(leaf)
                self.first_values[number] = leaf._version, digest
                if digest is not None and (leaf.shape, digest) in alike and not _is_constant(leaf):
                    self.copies.add(number)

    def kept_alike(self) -> tuple[int, ...]:
        """See `record.Owner`."""
        found = []
        for number, ref in list(self.bare.items()):
            leaf, before = ref(), self.first_values.get(number)
            if leaf is not None and before is not None:
                version, digest = before
                now = _digest(leaf)
                # LBFGS adds zeros to what has no gradient: a version alone says nothing where values can be compared.
                written = digest != now if digest is not None and now is not None else version != leaf._version
                if number in self.copies or written:
                    found.append(number)
        return tuple(found)

    def note_versions(self) -> None:
        self.versions = {n: leaf._version for n, leaf in self.live()}

    def moved(self) -> tuple[int, ...]:
        """The followed leaves that were changed since `note_versions`."""
        return tuple(n for n, leaf in self.live() if leaf._version != self.versions.get(n, leaf._version))

    def apply(self) -> None:
        """A step has ended: what it has used stays there until somebody clears it."""
        self.applied = {}
        for number, leaf in self.live():
            self.state[number] = _state(leaf.grad)
            made = self.made_of.get(number)
            digest = _digest(leaf.grad) if leaf.grad is not None and made else None
            if digest is not None and made:
                self.applied[number] = (digest, made)
        self.passed = self.filled = False


def _spread(groups: list[dict[str, Any]]) -> list[torch.Tensor]:
    """A few parameters that stand for all: the last of each group (what is added to a model comes last), and some
    from beginning to end."""
    every = [p for group in groups for p in group["params"]]
    last = [group["params"][-1] for group in groups[-_FOLLOWED // 2 :] if group["params"]]
    even = [every[i * (len(every) - 1) // (_FOLLOWED - 1)] for i in range(_FOLLOWED)] if every else []
    return list({id(p): p for p in (*last, *even)}.values())[:_FOLLOWED]


class Gradients:
    """Follows the gradients of every optimizer that has stepped or been seen."""

    def __init__(self, leaves: Leaves) -> None:
        self._leaves = leaves
        self.by_identity: dict[int, tuple[Any, Book]] = {}
        self.hand: dict[int, Book] = {}
        """Leaves that no optimizer owns: some people write their own steps."""
        self._closed: deque[Book] = deque(maxlen=_CLOSED)
        """The books of optimizers that are gone: no longer followed, but still to be told of."""

    # -- books -----------------------------------------------------------------------------------------------------

    def book(self, optimizer: torch.optim.Optimizer) -> Book:
        """The book of an optimizer, opened at the first sight of it."""
        key = id(optimizer)
        entry = self.by_identity.get(key)
        if entry is not None and entry[0]() is optimizer:
            return entry[1]
        groups = optimizer.param_groups
        every = [p for group in groups for p in group["params"]]
        book = Book(self._unnamed(type(optimizer).__name__), every, _spread(groups), self._leaves)
        self.by_identity[key] = (weakref.ref(optimizer, lambda ref: self._close(key, ref)), book)
        return book

    def _unnamed(self, kind: str) -> str:
        """What an optimizer is called until its name is seen. Whoever tells optimizers apart tells them by name."""
        alike = sum(book.kind == kind for _, book in list(self.by_identity.values()))
        return f"{kind} {alike + 1}" if alike else kind

    def _close(self, key: int, ref: Any) -> None:
        entry = self.by_identity.get(key)
        if entry is not None and entry[0] is ref:
            del self.by_identity[key]
            self._closed.append(entry[1])

    def books(self) -> list[Book]:
        """The books of all optimizers, those of the ones that are gone first."""
        return [*self._closed, *(book for _, book in list(self.by_identity.values()))]

    def _all(self, only: Book | None = None) -> list[torch.Tensor]:
        """The leaves of the optimizers that are there, or of one of them."""
        optimizers = [ref() for ref, book in list(self.by_identity.values()) if only is None or book is only]
        return [p for o in optimizers if o is not None for group in o.param_groups for p in group["params"]]

    def filled(self) -> list[tuple[int, torch.Tensor]]:
        """The gradients that the leaves of the optimizers have, by the leaves' numbers."""
        return [(self._leaves.number(p), p.grad) for p in self._all() if p.grad is not None]

    def bare(self) -> set[int]:
        """The leaves of an optimizer that have had no gradient at two of its steps or more."""
        return {n for book in self.books() if book.looked > 1 for n in list(book.bare)}

    def requiring(self) -> set[int]:
        """The leaves of the optimizers that are there, as far as they require a gradient now."""
        return {self._leaves.number(p) for p in self._all() if p.requires_grad}

    def _own(self) -> list[Book]:
        """The books of this thread. Its passes may fill the others' gradients too, so these are no longer known."""
        here, own = get_ident(), []
        for book in [*(b for _, b in list(self.by_identity.values())), *list(self.hand.values())]:
            if book.thread == here:
                own.append(book)
            else:
                book.forget()
                book.passed = True
        return own

    def forget(self) -> None:
        """Begins anew: what was known of gradients is out of date after steps that were not followed."""
        for book in [*(b for _, b in list(self.by_identity.values())), *list(self.hand.values())]:
            book.forget()

    # -- passes ----------------------------------------------------------------------------------------------------

    def pass_begins(self) -> tuple[Used, dict[int, int], tuple[int, ...]]:
        """What a pass finds: the gradients, the leaves' versions, and what was cleared since the event before."""
        found: Used = {}
        versions: dict[int, int] = {}
        cleared: tuple[int, ...] = ()
        for book in self._own():
            cleared += book.compare()
            found.update(book.made_of)
            versions.update((n, leaf._version) for n, leaf in book.live())
        return found, versions, cleared

    def pass_ends(self, when: int) -> tuple[int, ...]:
        """The leaves whose gradient a pass has changed."""
        filled = []
        for book in self._own():
            filled += book.fill(when)
            if book.looked:
                bare = ((n, ref()) for n, ref in book.bare.items() if n not in book.given)
                book.given.update([n for n, leaf in bare if leaf is not None and leaf.grad is not None])
        for book in list(self.hand.values()):  # other threads may add some meanwhile
            if book.thread == get_ident():
                book.note_versions()
                book.values = {n: _digest(leaf) for n, leaf in book.live()}
        return tuple(filled)

    # -- steps -----------------------------------------------------------------------------------------------------

    def step_begins(self, book: Book) -> tuple[Used, tuple[int, ...]]:
        """What a step finds: the gradients that it will apply, and what was cleared since the event before."""
        book.looked += 1
        book.thread = get_ident()
        for number in self.hand.keys() & set(book.every) if self.hand else ():
            del self.hand[number]
        for number, ref in list(book.bare.items()):
            leaf = ref()
            if leaf is None or leaf.grad is not None or not leaf.requires_grad:
                del book.bare[number]
        if book.looked == 1 and book.bare:
            book.note_bare([p for p in self._all(book) if p.grad is not None])
        cleared = book.compare()
        book.note_versions()
        # A gradient of unknown origin is one all the same: that of a pass which is under way, in whose hook the step is made.
        came = book.filled or None in book.made_of.values()
        book.idle = book.idle + 1 if book.passed and not came else 0
        return dict(book.made_of), cleared

    def step_ends(self, optimizer: torch.optim.Optimizer, book: Book) -> tuple[int, ...] | None:
        """The followed leaves that a step has moved; None where versions do not tell."""
        moved = book.moved()
        fused = any(group.get("fused") for group in optimizer.param_groups)
        book.steps += 1
        book.apply()
        return None if fused and not moved else moved

    # -- steps without an optimizer ----------------------------------------------------------------------------------

    def by_hand(self, leaves: Iterable[torch.Tensor]) -> None:
        """Follows leaves that no optimizer owns."""
        if len(self.hand) >= _FOLLOWED:
            self.hand = {n: book for n, book in list(self.hand.items()) if book.live()}
        for leaf in leaves:
            number = self._leaves.number(leaf)
            if len(self.hand) >= _FOLLOWED:
                return
            if number not in self.hand and not any(number in book.every for book in self.books()):
                self.hand[number] = Book("", [leaf], [leaf], self._leaves)

    def stepped_by_hand(self) -> tuple[tuple[int, ...], Used] | None:
        """Called when a pass begins: which leaves without an optimizer were changed since the last one, and what their
        gradients were made of then."""
        moved: list[int] = []
        used: Used = {}
        for book in list(self.hand.values()):  # other threads may add some meanwhile
            if book.thread != get_ident():
                continue
            for number, leaf in book.live():
                value = book.values.get(number)
                # A change through `.data` moves no version.
                if book.moved() or (value is not None and _digest(leaf) != value):
                    moved.append(number)
                    used[number] = book.made_of.get(number)
        return (tuple(moved), used) if moved else None
