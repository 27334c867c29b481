# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors on the host: each storage moves once, on a stream of its own.

NOTE [ Streams ]
1. Copies to the host start at the end of a segment of the forward, for until then parts of a storage may still be
   written that other saved tensors lie in. The memory is given back once the stream of the kernels has been told to wait
   for the copy: so nothing can be written there too early, and the host never waits.
2. That stream stands still until the copy is done. So at the end of a segment only as much is given back as is more than
   the room for copies on their way: what left first. What is still there when the first pass begins is used as it is.
3. A copy back writes to memory given by the stream of the kernels, and waits for what that stream was doing with it.
   The kernels wait for the copy when the tensor is read, or when the memory is given back unread.
4. Copies back run ahead of the pass, in the order in which it wants them, as far as there is room: see `Traffic`. A copy
   takes the place of one that was read, if that is as large: then the kernels need not wait, should that place still be
   on its way to the host. Only the copy does.
5. On the CPU both are plain copies, and reading gives the same bits. Memory is given back by the same rules.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

__all__ = ["HostCopy", "Traffic"]

_streams: dict[tuple[torch.device, str], Any] = {}


def _stream(device: torch.device, way: str) -> Any:
    key = (device, way)
    if key not in _streams:
        _streams[key] = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    return _streams[key]


def _holders(tensor: torch.Tensor) -> int:
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)


class HostCopy:
    """One storage: on the host, and during a pass perhaps back on the device."""

    __slots__ = ("__weakref__", "_away", "_host", "_ready", "back", "device", "early", "nbytes", "source", "traffic")

    def __init__(self, tensor: torch.Tensor, traffic: Traffic) -> None:
        whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
        self.device, self.nbytes, self.traffic = whole.device, whole.numel(), traffic
        self.source: torch.Tensor | None = whole
        """The memory that is copied from, until it is given back."""
        self.back: torch.Tensor | None = None
        self._away: Any = None
        self._ready: Any = None
        self.early = False
        """It is back for the pass after this one."""
        self._host = self._depart(whole)
        traffic.left(self)

    @property
    def here(self) -> bool:
        return self.source is not None or self.back is not None

    def _depart(self, source: torch.Tensor) -> torch.Tensor:
        """Starts the copy to the host."""
        if self.device.type != "cuda":
            return source.clone()
        host = torch.empty(self.nbytes, dtype=torch.uint8, pin_memory=True)
        stream = _stream(self.device, "away")
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            host.copy_(source, non_blocking=True)
            self._away = stream.record_event()
        return host

    def settle(self) -> None:
        """Gives the memory back that was copied from: see NOTE [ Streams ] 1."""
        if self.source is not None:
            self._await()
            self.source = None

    def fetch(self) -> None:
        """Starts the copy back."""
        if self.back is not None:
            return
        if self.source is not None:
            self.back, self.source = self.source, None
            return
        if self.device.type != "cuda":
            self.back = self._host.clone()
            return
        place, away = self.traffic.place(self.nbytes, self.device)
        self.back = torch.empty(self.nbytes, dtype=torch.uint8, device=self.device) if place is None else place
        stream = _stream(self.device, "back")
        stream.wait_stream(torch.cuda.current_stream(self.device))
        if away is not None:
            stream.wait_event(away)
        with torch.cuda.stream(stream):
            self.back.copy_(self._host, non_blocking=True)
            self._ready = stream.record_event()

    def read(self) -> torch.Tensor:
        """The memory, on the device."""
        self.traffic.wanted(self)
        self.fetch()
        assert self.back is not None
        if self._ready is not None:
            torch.cuda.current_stream(self.device).wait_event(self._ready)
            self._ready = None
        return self.back

    def release(self) -> None:
        """Its readers hold it from here on, if there were any."""
        if self.back is not None:
            self._await()
            self.back = None

    def hand_over(self) -> None:
        """The same when it has been read for the last time in a pass: another copy may take its place."""
        if self.back is not None:
            self.traffic.gone(self, self._away)
            self.back = self._away = None
            self.early = False

    def _await(self) -> None:
        for event in (self._away, self._ready):
            if event is not None:
                torch.cuda.current_stream(self.device).wait_event(event)
        self._away = self._ready = None


class Traffic:
    """The copies of one call: those of its forward, and back in each pass, as many on their way as there is room for."""

    def __init__(self) -> None:
        self._left: list[weakref.ref[HostCopy]] = []
        """Copies to the host whose memory was not given back yet, in order."""
        self._order: list[HostCopy] = []
        self._queue: deque[HostCopy] = deque()
        self._out = 0
        self._more = False
        """Another pass is expected: when all is on its way, its first copies follow."""
        self._places: list[tuple[torch.Tensor, Any]] = []
        """Memory of copies that were read, and the event of its copy to the host, if that may not be over."""

    def left(self, copy: HostCopy) -> None:
        """A copy to the host has started."""
        self._left.append(weakref.ref(copy))

    @property
    def departing(self) -> bool:
        return bool(self._left)

    def settle(self, room: int) -> None:
        """Gives back memory of what is on its way to the host, or there, as far as it takes more than the room."""
        here = [copy for copy in (known() for known in self._left) if copy is not None and copy.source is not None]
        size = sum(copy.nbytes for copy in here)
        while here and size > room:
            copy = here.pop(0)
            copy.settle()
            size -= copy.nbytes
        self._left = [weakref.ref(copy) for copy in here]

    @property
    def waiting(self) -> bool:
        return bool(self._queue) or self._more

    def begin(self, copies: Iterable[HostCopy], more: bool) -> None:
        """A pass begins; the copies come in the order of the forward."""
        self._order = list(copies)[::-1]
        self._queue, self._more = deque(self._order), more
        self._out = sum(copy.nbytes for copy in self._order if copy.source is not None or copy.early)
        for copy in self._order:
            copy.early = False

    def pump(self, room: int) -> None:
        """Starts copies back within the room."""
        while self._queue:
            copy = self._queue[0]
            if not copy.here and self._out + copy.nbytes > room:
                return
            self._queue.popleft()
            self._out += 0 if copy.here else copy.nbytes
            copy.fetch()
        if self._more:
            self._pump_early(room)

    def _pump_early(self, room: int) -> None:
        for copy in self._order:
            if copy.early:
                continue
            if copy.here or self._out + copy.nbytes > room:
                return  # this pass has not read it yet, or there is no room
            self._out += copy.nbytes
            copy.early = True
            copy.fetch()
        self._more = False

    def wanted(self, copy: HostCopy) -> None:
        """It is read now, whether there is room or not."""
        if not copy.here:
            self._out += copy.nbytes

    def gone(self, copy: HostCopy, away: Any) -> None:
        """It was read for the last time."""
        self._out -= copy.nbytes
        if copy.device.type == "cuda" and copy.back is not None:
            self._places.append((copy.back, away))
            if not self.waiting:
                self._give_back()

    def place(self, size: int, device: torch.device) -> tuple[torch.Tensor | None, Any]:
        """Memory for a copy, if there is some of just that size that no reader holds on to; what else there is goes."""
        for index, (place, away) in enumerate(self._places):
            if (place.numel(), place.device) == (size, device) and _holders(place) == _holders(torch.empty(0)):
                del self._places[index]
                return place, away
        self._give_back()
        return None, None

    def end(self) -> None:
        """The pass is over: what came back for it goes."""
        for copy in self._order:
            if not copy.early:
                copy.release()
        self._give_back()
        self._order, self._queue, self._more = [], deque(), False

    def _give_back(self) -> None:
        """Gives back the memory of what was read: PyTorch lets nobody have it before a copy to the host is over."""
        for place, away in self._places:
            if away is not None:
                place.record_stream(_stream(place.device, "away"))
        self._places.clear()
