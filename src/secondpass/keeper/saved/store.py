# SPDX-License-Identifier: BSD-3-Clause
"""The saved tensors of one call: which are here, which are bits, on the host, or computed when they are read.

NOTE [ Reading ]
1. What is held is checked against its version. One that was written to raises PyTorch's error.
2. What is not here is computed again: see `recompute.replay`. Other saved tensors that come by on the way wait for their
   readers, unless they are cheap to compute from what waits: then, where room is short, they are computed when read.
3. What was computed again goes when all of its readers have read it, and at the end of the pass in any case.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..errors import changed
from ..recompute.op import GIVEN, PARAMETER, Form, Forms, Op, Saved, Value, bare, view
from ..recompute.replay import compute
from ..recompute.state import Settings
from .graph import storage_of
from .host import HostCopy, Traffic
from .mask import as_bits

__all__ = ["BITS", "CHEAP", "DROP", "HOLD", "HOST", "LINGER", "Store"]

HOLD, DROP, CHEAP, BITS, HOST, LINGER = "hold", "drop", "cheap", "bits", "host", "linger"
"""What becomes of a saved tensor. CHEAP is as DROP: see NOTE [ Reading ] 2. LINGER goes as the first pass reads it."""


class Store:
    """See NOTE [ Reading ]. It knows values by weak reference only: see NOTE [ Tokens ]."""

    def __init__(self, given: set[int], buffers: list[torch.Tensor], on_gpu: bool) -> None:
        self.settings = Settings(on_gpu)
        self.on_gpu = on_gpu
        self.forms: Forms = {}
        self.held = self.most = 0
        """Bytes on the device, now and at most."""
        self.tokens = 0
        self.largest = 0
        self.places: list[tuple[int, int, weakref.ref[Value]]] | None = []
        """Of a forward without a plan: the operation, the number among what it saved, and the value."""
        self.action: str | None = None
        """What becomes of a saved tensor without a plan."""
        self.turn = 0
        """The number of the pass."""
        self.lean = False
        """Room is short: see NOTE [ Reading ] 2."""
        self.splits: dict[int, int] = {}
        """Segments that are computed in two halves: the operation at which the later one begins."""
        self.anchors: frozenset[tuple[int, int]] = frozenset()
        """What the plan says that other segments are computed from."""
        self.stepped: set[int] = set()
        """Parameters that an optimizer has changed since, by id, whether their versions tell so or not."""
        self.dead: Callable[[], RuntimeError] | None = None
        """What a pass is told, where none can be right any more."""
        self.traffic = Traffic()
        self.operations = 0
        self.seconds = 0.0
        """What computing again took in the present pass."""
        self._given, self._buffers = given, buffers
        self._values: list[weakref.ref[Value]] = []
        self._fresh: list[weakref.ref[Value]] = []
        self._todo: list[tuple[Value, str, torch.Tensor | None]] = []
        self._leaving: list[weakref.ref[Value]] = []
        """What goes to the host when its segment is over."""
        self.lock = threading.RLock()

    def values(self) -> Iterator[Value]:
        """All values that are saved or held, in the order in which they were."""
        return (value for value in (known() for known in self._values) if value is not None)

    # The forward ---------------------------------------------------------------------------------------------------

    def save(self, value: Value, tensor: torch.Tensor, op: Op, number: int, action: str | None, form: Form) -> Saved:
        """A node saves a tensor."""
        self.tokens += 1
        first = not value.tokens
        value.tokens += 1
        if first:
            value.dtype = form.dtype
            self._enter(value)
        if self.places is not None:
            if first:
                value.dense = tensor.numel() * tensor.element_size() == value.nbytes
            self.places.append((op.number, number, weakref.ref(value)))
            value.anchor |= value.segment != op.segment
        elif self.anchors and (op.number, number) in self.anchors:
            value.anchor = True
        if action is None:
            action = self.action
        late = None
        if value.data is None and (first or (value.bits is None and value.host is None)):
            if (action is not DROP and action is not CHEAP) or value.op is None:
                self.hold(value, tensor.detach())
            elif value.op is op:
                late = tensor  # once the operation is over, it is known whether it must be held
        if action is not None and action is not HOLD:
            self._todo.append((value, action, late))
        return Saved(value, form)

    def _enter(self, value: Value) -> None:
        if value.kind is GIVEN and self._buffers:
            self._given.update(storage_of(buffer)[0] for buffer in self._buffers)
            self._buffers = []
        if value.kind is not PARAMETER and value.key not in self._given:
            if value.kind is GIVEN and value.why is None:
                value.why = "keep did not see how it was made"
            value.counted = value.nbytes
            if value.nbytes > self.largest:
                self.largest = value.nbytes
        self._values.append(weakref.ref(value))

    def hold(self, value: Value, tensor: torch.Tensor) -> None:
        value.data, value.at = bare(tensor), tensor._version
        self.held += value.counted
        if self.held > self.most:
            self.most = self.held

    def hold_source(self, value: Value, tensor: torch.Tensor) -> None:
        """Operations need it, and it cannot be computed."""
        if value.data is None:
            if not value.tokens:
                self._enter(value)
            self.hold(value, tensor.detach())

    def done(self, op: Op) -> None:
        """An operation is over: does what is to be done with what its nodes saved."""
        if not self._todo:
            return
        for value, action, late in self._todo:
            if late is not None:
                if action is CHEAP:
                    value.cheap = True
                if not value.droppable and value.data is None:
                    self.hold(value, late.detach())
                    value.at = value.version
            elif action is BITS:
                self.to_bits(value)
            elif action is HOST:
                self._leaving.append(weakref.ref(value))
            elif value.droppable:
                if action is CHEAP:
                    value.cheap = True
                if action is LINGER:
                    value.fresh = True
                    self._fresh.append(weakref.ref(value))
                else:
                    self.drop(value)
        self._todo.clear()

    def hold_results(self, op: Op, out: Any) -> None:
        """Others are computed from what an operation returned, and no node has saved it."""
        outs = out if isinstance(out, (tuple, list)) else (out,)
        for value in op.made():
            if value.slot[0] == "out" and value.data is None and not value.tokens:
                self._enter(value)
                self.hold(value, outs[value.slot[1]].detach())

    # Letting go ----------------------------------------------------------------------------------------------------

    def drop(self, value: Value) -> None:
        if value.data is not None:
            value.data, value.fresh = None, False
            self.held -= value.counted

    def to_bits(self, value: Value) -> bool:
        """Holds a mask as bits, if it is one."""
        if value.bits is None and value.data is not None and value.here:
            value.bits = as_bits(value.data)
            if value.bits is not None:
                self.held += value.bits.nbytes
                self.drop(value)
        return value.bits is not None

    def to_host(self, value: Value) -> None:
        """Starts the copy to the host. What was written to since it was saved stays, for PyTorch's error."""
        if value.host is None and value.data is not None and value.here and value.counted:
            value.host = HostCopy(value.data, self.traffic)
            self.drop(value)

    @property
    def departing(self) -> bool:
        return bool(self._leaving) or self.traffic.departing

    def depart(self, room: int) -> None:
        """A segment is over: what it saved goes to the host, and memory is given back: see NOTE [ Streams ] 1 and 2."""
        for known in self._leaving:
            value = known()
            if value is not None:
                self.to_host(value)
        self._leaving.clear()
        self.traffic.settle(room)

    def copies(self) -> list[HostCopy]:
        return [value.host for value in self.values() if value.host is not None]

    def free(self, error: Callable[[], RuntimeError]) -> None:
        """Lets go of everything: no pass can be right any more."""
        with self.lock:
            self.dead = error
            for value in self.values():
                if value.counted or value.kind not in (PARAMETER, GIVEN):  # also what keep did not see being made
                    if value.data is not None:
                        self.drop(value)
                    if value.host is not None:
                        value.host = None
                    if value.bits is not None:
                        self.held -= value.bits.nbytes
                        value.bits = None
                value.op = None

    # Reading -------------------------------------------------------------------------------------------------------

    def read(self, token: Saved) -> torch.Tensor:
        value = token.value
        data = value.data
        if data is not None and data._version == value.at and not value.fresh:
            return view(data, token.form)
        with self.lock:
            return self._read(token)

    def _read(self, token: Saved) -> torch.Tensor:
        value, turn = token.value, self.turn
        if value.turn != turn:
            value.turn, value.reads = turn, 0
        if token.turn != turn:
            token.turn = turn
            value.reads += 1
        unread = value.tokens - value.reads
        """How many other readers this pass may still have for it."""
        data = value.data
        if data is not None:
            if data._version != value.at or value.exposed:
                raise changed("a saved tensor", value.at, data._version)
        elif self.dead is not None:
            raise self.dead()
        elif value.bits is not None:
            data = value.bits.make()
        elif value.host is not None:
            data = value.host.read()
        else:
            data = self.computed(value)
            if unread and not (self.lean and value.cheap):
                self.refill(value, data)
        found = view(data, token.form)
        if not unread:
            if value.host is not None:
                value.host.hand_over()
            elif value.fresh:
                self.drop(value)
        return found

    def computed(self, value: Value) -> torch.Tensor:
        """Computes a value again."""
        start = time.perf_counter()
        assert value.op is not None
        border = self.splits.get(value.segment, 0)
        after = border if value.op.number >= border else 0

        def waits(other: Value) -> bool:
            if other.data is not None:  # its readers shall see what was written there since
                return False
            if not other.tokens or other.op is None or other.op.number < after or (self.lean and other.cheap):
                return False
            return other.turn != self.turn or other.reads < other.tokens

        data = compute(self, value, waits)
        self.seconds += time.perf_counter() - start
        return data

    def refill(self, value: Value, tensor: torch.Tensor) -> None:
        """Holds what was computed again, until it is read."""
        value.data, value.at = tensor, tensor._version
        self.held += value.counted
        if self.held > self.most:
            self.most = self.held
        value.fresh = True
        self._fresh.append(weakref.ref(value))

    def ran(self, ops: list[Op]) -> None:
        self.operations += len(ops)

    def end_pass(self) -> None:
        with self.lock:
            for known in self._fresh:
                value = known()
                if value is not None and value.fresh:
                    self.drop(value)
            self._fresh.clear()
            self.traffic.end()
