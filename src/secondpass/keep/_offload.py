# SPDX-License-Identifier: BSD-3-Clause
"""Buffers on the host: each storage moves once, on a stream of its own.

NOTE [ Streams ]
1. Copies to the host start when the forward of the unit is over, for until then parts of a storage may still be
   written that other buffers live in. The memory is given back once the stream of the kernels has been told to wait
   for the copy: so nothing can be written there too early, and the host never waits.
2. That stream stands still until the copy is done. So memory is given back only when it is needed, and what is still
   there when the first pass begins is used as it is.
3. A copy back writes to memory given by the stream of the kernels, and waits for what that stream was doing with it.
   The kernels wait for the copy when the buffer is read, or when the memory is given back unread.
4. Copies back run ahead of the pass, in the order in which it wants them, as far as there is room: see `Traffic`. A copy
   takes the place of one that was read, if that is as large: then the kernels need not wait, should that place still be
   on its way to the host. Only the copy does.
5. On the CPU both are plain copies, and reading gives the same bits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

from ._graph import storage_of

__all__ = ["Host", "Traffic"]

_streams: dict[tuple[torch.device, str], Any] = {}


def _stream(device: torch.device, way: str) -> Any:
    key = (device, way)
    if key not in _streams:
        _streams[key] = torch.cuda.Stream(device)
    return _streams[key]


def _holders(tensor: torch.Tensor) -> int:
    return torch._C._storage_Use_Count(tensor.untyped_storage()._cdata)  # type: ignore[no-any-return]


class _Copy:
    """One storage: on the host, and during a pass perhaps back on the device."""

    __slots__ = ("away", "back", "device", "early", "host", "left", "readers", "ready", "size", "source")

    def __init__(self, source: torch.Tensor) -> None:
        self.device, self.size = source.device, source.numel()
        self.source: torch.Tensor | None = source
        self.back: torch.Tensor | None = None
        self.host: torch.Tensor | None = None
        self.away: Any = None
        self.ready: Any = None
        self.readers = self.left = 0
        self.early = False
        """It is back for the pass after this one."""

    def depart(self) -> None:
        """Starts the copy to the host."""
        if self.device.type == "cuda":
            self.host = torch.empty(self.size, dtype=torch.uint8, pin_memory=True)
            stream = _stream(self.device, "away")
            stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(stream):
                self.host.copy_(self.source, non_blocking=True)
                self.away = stream.record_event()
        else:
            self.host = self.source.clone()
            self.source = None

    def settle(self) -> None:
        """Gives the memory back that was copied from: see NOTE [ Streams ] 1."""
        if self.source is not None:
            self._await()
            self.source = None

    def fetch(self, traffic: Traffic) -> None:
        """Starts the copy back."""
        if self.back is not None:
            return
        self.left = self.readers
        if self.source is not None:
            self.back, self.source = self.source, None
        elif self.device.type != "cuda":
            self.back = self.host.clone()
        else:
            place, away = traffic.place(self.size, self.device)
            self.back = torch.empty(self.size, dtype=torch.uint8, device=self.device) if place is None else place
            stream = _stream(self.device, "back")
            stream.wait_stream(torch.cuda.current_stream(self.device))
            if away is not None:
                stream.wait_event(away)
            with torch.cuda.stream(stream):
                self.back.copy_(self.host, non_blocking=True)
                self.ready = stream.record_event()

    def wait(self, traffic: Traffic) -> torch.Tensor:
        self.fetch(traffic)
        if self.ready is not None:
            torch.cuda.current_stream(self.device).wait_event(self.ready)
            self.ready = None
        return self.back

    def release(self) -> None:
        """Its readers hold it from here on, if there were any."""
        if self.back is not None:
            self._await()
            self.back = None

    def hand_over(self, traffic: Traffic) -> None:
        """The same when it has been read: another copy may take its place."""
        traffic.gone(self)
        self.back = self.away = None
        self.early = False

    def _await(self) -> None:
        for event in (self.away, self.ready):
            if event is not None:
                torch.cuda.current_stream(self.device).wait_event(event)
        self.away = self.ready = None


class Host:
    """The host side of one run's buffers."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy] = {}
        self._gone = 0
        self.order: list[_Copy] = []

    def put(self, tensor: torch.Tensor) -> Any:
        """Takes a buffer; returns what finds it again."""
        key, _ = storage_of(tensor)
        copy = self._copies.get(key)
        if copy is None:
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            copy = self._copies[key] = _Copy(whole)
            self.order.append(copy)
        copy.readers += 1
        return copy, tensor.dtype, tensor.stride(), tensor.storage_offset()

    def depart(self) -> None:
        """Starts the copies to the host of what was put here since."""
        self._copies.clear()  # addresses mean nothing from here on
        for copy in self.order[self._gone :]:
            copy.depart()
        self._gone = len(self.order)

    def settle(self) -> None:
        """Gives the device's memory back."""
        for copy in self.order:
            copy.settle()

    @property
    def leaving(self) -> int:
        """Bytes on their way to the host whose memory is not given back."""
        return sum(copy.size for copy in self.order if copy.source is not None)

    @property
    def on_host(self) -> int:
        return sum(copy.size for copy in self.order)

    def get(self, handle: Any, shape: torch.Size, traffic: Traffic, keep: bool = False) -> torch.Tensor:
        """The buffer. The last of its readers takes it along, unless it is to `keep`."""
        copy, dtype, stride, offset = handle
        traffic.wanted(copy)
        data = copy.wait(traffic)
        view = torch.empty(0, dtype=dtype, device=data.device).set_(data.untyped_storage(), offset, shape, stride)
        if not keep:
            copy.left -= 1
            if copy.left == 0:
                copy.hand_over(traffic)
        return view

    def end_pass(self) -> None:
        for copy in self.order:
            if not copy.early:
                copy.release()

    def clear(self) -> None:
        for copy in self.order:
            copy.release()
        self.settle()
        self.order.clear()
        self._gone = 0


class Traffic:
    """The copies back of one pass: always as many on their way as there is room for."""

    def __init__(self) -> None:
        self._order: list[_Copy] = []
        self._queue: deque[_Copy] = deque()
        self._out = 0
        self._more = False
        """Another pass is expected: when all is on its way, its first copies follow."""
        self._places: list[tuple[torch.Tensor, Any]] = []
        """Memory of copies that were read, and the event of its copy to the host, if that may not be over."""

    @property
    def waiting(self) -> bool:
        return bool(self._queue) or self._more

    def begin(self, hosts: Iterable[Host], more: bool) -> None:
        """A pass begins; the hosts come in the order of the forward."""
        self._order = [copy for host in reversed(list(hosts)) for copy in reversed(host.order)]
        self._queue, self._more = deque(self._order), more
        self._out = sum(copy.size for copy in self._order if copy.source is not None or copy.early)
        for copy in self._order:
            copy.early = False

    def pump(self, room: int) -> None:
        """Starts copies back within the room."""
        while self._queue:
            here = self._queue[0].source is not None or self._queue[0].back is not None
            if not here and self._out + self._queue[0].size > room:
                return
            copy = self._queue.popleft()
            self._out += 0 if here else copy.size
            copy.fetch(self)
        if self._more:
            self._pump_early(room)

    def _pump_early(self, room: int) -> None:
        for copy in self._order:
            if copy.early:
                continue
            if copy.source is not None or copy.back is not None or self._out + copy.size > room:
                return  # this pass has not read it yet, or there is no room
            self._out += copy.size
            copy.early = True
            copy.fetch(self)
        self._more = False

    def wanted(self, copy: _Copy) -> None:
        """It is read now, whether there is room or not."""
        if copy.back is None and copy.source is None:
            self._out += copy.size

    def gone(self, copy: _Copy) -> None:
        """It was read for the last time."""
        self._out -= copy.size
        if copy.device.type == "cuda":
            self._places.append((copy.back, copy.away))
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
        """The pass is over."""
        self._give_back()
        self._order, self._queue, self._more = [], deque(), False

    def _give_back(self) -> None:
        """Gives back the memory of what was read: PyTorch lets nobody have it before a copy to the host is over."""
        for place, away in self._places:
            if away is not None:
                place.record_stream(_stream(place.device, "away"))
        self._places.clear()
