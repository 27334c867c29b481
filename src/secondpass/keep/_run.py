# SPDX-License-Identifier: BSD-3-Clause
"""One forward of one unit: its buffers, and where they are. See NOTE [ Buffers of a unit ]."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.autograd.graph import saved_tensors_hooks

from . import _remake
from ._buffers import Buffers, unpack
from ._clock import moment
from ._errors import KeepError, changed
from ._graph import elsewhere, storage_of
from ._noise import Mask
from ._offload import Host
from ._replay import describe
from ._state import Surroundings, outdated, severed
from ._tree import tensors
from ._unit import Unit

__all__ = ["FAST", "FULL", "HALVES", "SLIM", "Fate", "Run"]

# NOTE [ Levels ]: how far a call is cut down to meet its budget. Each needs less room than the one before.
FULL = "full"  # all is held
FAST = "fast"  # units are held slim, or made again with all their buffers
SLIM = "slim"  # derived buffers are not even kept of a unit that was made again
HALVES = "halves"  # and its later buffers are made first, the earlier ones when a pass comes to them


class Fate(NamedTuple):
    """What is to become of a run."""

    mode: str
    level: str
    without: frozenset[int] | None = None
    """Which buffers are not held, by number: those that go to the host, by default all, or that are made again."""


class Run(Buffers):
    """See NOTE [ Buffers of a unit ]."""

    def __init__(self, frame: Any, unit: Unit, args: tuple[Any, ...], kwargs: dict[str, Any], fate: Fate) -> None:
        mode, level, self._without = fate
        self.mode, self.level = mode, level
        self.args, self.kwargs = severed(args), severed(kwargs)
        self.reason = "within the budget" if mode == "retain" else f"policy {mode}"
        inputs = list(tensors((args, kwargs)))
        self.boundary = {key: size for key, size in map(storage_of, inputs) if key}
        parameters = unit.habits.parameters()
        own = {storage_of(value)[0] for value in parameters}
        own.update(storage_of(value)[0] for _, _, value in unit.habits.all_buffers())
        # A plan that makes this unit again with all its buffers, or holds all of them, needs to know no more of them.
        slims = not frame.follows or (level != FULL and (mode, level) != ("recompute", FAST))
        left_out = self._without if mode == "retain" and self._without else frozenset()
        super().__init__(frame, unit, own | set(self.boundary), slims, left_out)
        weights = (value.numel() * value.element_size() for value in parameters if value.requires_grad)
        frame.weight = max(frame.weight, *weights, 0)
        self.versions = [(value, value._version) for value in parameters]
        self.versions += [(value, value._version) for value in tensors((self.args, self.kwargs))]
        devices = tuple({value.device: None for value in (*parameters, *inputs)})
        self._device = devices[0] if devices else torch.device("cpu")
        self.surroundings = Surroundings(unit.habits, devices)
        self.seconds = 0.0
        self.recomputes = self.parted = 0
        self.host = Host() if mode == "offload" else None

    # The forward ---------------------------------------------------------------------------------------------------

    def forward(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        unit = self.unit
        here = self._device.type == "cpu"
        timed = here or (unit.pace is None and not self.frame.follows)
        start = moment(self._device) if timed else 0.0
        with saved_tensors_hooks(self.pack, unpack):
            result = call(*args, **kwargs)
        self.seconds = moment(self._device) - start if timed else (unit.pace or 0.0) * self.bytes
        if timed and not here and self.bytes:
            unit.pace = self.seconds / self.bytes  # to wait for a device takes time: once is enough
        self._settle()
        return result

    def _settle(self) -> None:
        """The forward is over: may these buffers be dropped?"""
        unit = self.unit
        self.closed()
        if not self.surroundings.settle(unit.habits):
            unit.verified = False
            self._pin_once("its forward changed state it had not changed before")
        for value, version in self.versions:
            if value._version != version:
                unit.pinned = "its forward writes to its parameters or arguments"
                self._pin_once(unit.pinned)
                break
        empty = any(entry.nbytes and not entry.alias and elsewhere(entry.data) for entry in self.entries)
        for entry in self.entries if empty else ():
            if not entry.alias and elsewhere(entry.data):
                entry.alias = True
                self.held -= entry.nbytes
                self.frame.shrank(entry.nbytes)
                self.bytes -= entry.nbytes
        slim = (SLIM, HALVES) if self.mode == "recompute" else (FAST, SLIM, HALVES)
        if self.level in slim:
            self.slim_down()
        if self.host is not None:
            self._send_away(self._without)
        elif self.mode == "recompute" and unit.verified:
            # Goes as it is read, or when the next unit needs the room: see `make_way`.
            _remake.remember(self)
            self.fresh, self.made = True, self.half(len(self.entries) - 1)
            self.let_go(entry for number, entry in enumerate(self.entries) if number not in self.made)
        elif self.mode == "recompute":
            self.evict(self.reason)

    def make_way(self) -> None:
        """The next unit begins. The last unit's buffers stay: the first pass begins with them, in room it needs."""
        if self.mode == "recompute" and self.fresh:
            self.evict(self.reason)

    def _pin_once(self, why: str) -> None:
        if self.mode == "recompute":
            self.mode = "retain"
        self.reason = why

    def _send_away(self, numbers: frozenset[int] | None = None) -> None:
        """Moves some buffers, by default all, to the host; with each goes what lies in the same memory."""
        here = [entry for entry in self.entries if not entry.alias and entry.data is not None]
        if numbers is not None:
            keys = {storage_of(self.entries[n].data)[0] for n in numbers if self.entries[n].data is not None}
            here = [entry for entry in here if storage_of(entry.data)[0] in keys]
        for entry in here:
            entry.host = self.host.put(entry.data)
        self.host.depart()
        self.let_go(here)
        self.reason = "on the host" if numbers is None else "on the host in part"

    def send_rest(self) -> None:
        """Moves to the host what the plan had left here."""
        with self._lock:
            if self.held:
                before = self.bits
                for entry in self.entries:
                    if isinstance(entry.recipe, Mask):
                        entry.recipe.leave()
                gone = before - self.bits
                self.held -= gone
                self.frame.shrank(gone)
                self._send_away()

    def away(self) -> frozenset[int]:
        """The buffers that are on the host."""
        return frozenset(number for number, entry in enumerate(self.entries) if entry.host is not None)

    def sizes(self) -> list[tuple[int, int]]:
        """The buffers with memory of their own that need to be held, for the plan of what is sent."""
        whole = ((n, e) for n, e in enumerate(self.entries) if not (isinstance(e.recipe, Mask) and self.derived(e)))
        return [(number, size) for number, entry in whole if (size := self._weight(entry))]

    @property
    def bits(self) -> int:
        """Bytes that stand for masks."""
        return sum(e.recipe.rest for e in self.entries if e.nbytes and isinstance(e.recipe, Mask) and self.derived(e))

    @property
    def on_host(self) -> int:
        return self.host.on_host if self.host is not None else 0

    # Letting go ----------------------------------------------------------------------------------------------------

    def cut_down(self, level: str) -> None:
        """It is made again in every pass: how?"""
        self.level, self.slim = level, level in (SLIM, HALVES) and self.unit.slimmed

    def work(self, level: str) -> int:
        """Bytes that a pass through this unit takes, if it is not held."""
        if level == HALVES:
            cut = self.middle()
            return max(self.weigh(range(cut)), self.weigh(range(cut, len(self.entries))))
        return self.weigh(range(len(self.entries))) if level == SLIM else self.bytes

    def half(self, number: int) -> range:
        """The buffers to be made together with this one."""
        count = len(self.entries)
        if self.level != HALVES:
            return range(count)
        cut = self.middle()
        return range(cut) if number < cut else range(cut, count)

    def evictable(self) -> bool:
        return self.held > 0 and self.unit.pinned is None and self.host is None

    def evict(self, why: str) -> bool:
        """Drops what is held. The first time, only after a second forward has given the same buffers."""
        with self._lock:
            if self.unit.pinned is None and (self.unit.verified or _remake.verify(self)):
                if not self.fresh:
                    _remake.remember(self)
                self.drop()
                self.mode, self.reason = "recompute", why
                self.cut_down(self.level)
                return True
            self.mode, self.fresh = "retain", False
            return False

    def forget(self, why: str, for_good: bool) -> None:
        """Drops everything, host copies too: nobody is expected to ask again, or nobody can (`for_good`)."""
        with self._lock:
            if not for_good and self.host is not None and not self.unit.verified:
                self.send_rest()
                return  # nothing on the device, and no proof that it could be made again
            if for_good:
                self.drop()
            elif self.held and not self.evict(why):
                return
            if self.host is not None:
                self.host.clear()
                for entry in self.entries:
                    entry.host = None
            self.reason = why

    # Reading -------------------------------------------------------------------------------------------------------

    def read(self, number: int) -> torch.Tensor:
        frame, entry = self.frame, self.entries[number]
        frame.fetch()
        data = entry.data
        if data is not None and data._version == entry.version and (entry.alias or not (self.fresh or frame.last_pass)):
            return data  # most of them are here, and stay
        with self._lock:
            if entry.data is None and self.derived(entry):
                return self.read_derived(number)
            data = self.value(number)
            if entry.host is None and not entry.alias and not self.unit.rereads and self.unit.pinned is None:
                if self.fresh or frame.last_pass:
                    self.let_go([entry])
            return data

    def value(self, number: int, keep: bool = False) -> torch.Tensor:
        """The buffer, from wherever it is. Those on the host count their readers, unless it is to `keep`."""
        entry = self.entries[number]
        if entry.data is None and entry.host is not None:
            return self.host.get(entry.host, entry.shape, self.frame.traffic, keep)
        if entry.data is None:
            if number in self.made or (self.mode == "retain" and self.frame.last_pass):
                self.unit.rereads = True
            _remake.recompute(self, self.half(number))
        data = entry.data
        if data is None:
            raise KeepError(f"unit `{self.unit.name}` gave no buffer {number} when it was run again.")
        if data._version != entry.version:
            raise changed(describe(entry), entry.version, data._version)
        return data

    def outdated(self) -> bool:
        """No pass through it can be right any more."""
        return outdated(self.versions)

    def end_pass(self) -> None:
        """A pass is over: what was made again for it goes, unless it is to stay."""
        with self._lock:
            if self.host is not None:
                self.host.end_pass()
            elif self.fresh:
                self.drop()
            else:
                self.forget_waiting()
