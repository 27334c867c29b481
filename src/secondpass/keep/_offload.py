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
4. Copies back run ahead of the pass, in the order in which it wants them, as far as there is room: see `Traffic`.
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


class _Copy:
    """One storage: on the host, and during a pass perhaps back on the device."""

    __slots__ = ("away", "back", "device", "host", "left", "readers", "ready", "size", "source")

    def __init__(self, source: torch.Tensor) -> None:
        self.device, self.size = source.device, source.numel()
        self.source: torch.Tensor | None = source
        self.back: torch.Tensor | None = None
        self.host: torch.Tensor | None = None
        self.away: Any = None
        self.ready: Any = None
        self.readers = self.left = 0

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

    def fetch(self) -> None:
        """Starts the copy back."""
        if self.back is not None:
            return
        self.left = self.readers
        if self.source is not None:
            self.back, self.source = self.source, None
        elif self.device.type != "cuda":
            self.back = self.host.clone()
        else:
            self.back = torch.empty(self.size, dtype=torch.uint8, device=self.device)
            stream = _stream(self.device, "back")
            stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(stream):
                self.back.copy_(self.host, non_blocking=True)
                self.ready = stream.record_event()

    def wait(self) -> torch.Tensor:
        self.fetch()
        if self.ready is not None:
            torch.cuda.current_stream(self.device).wait_event(self.ready)
            self.ready = None
        return self.back

    def release(self) -> int:
        """Its readers hold it from here on, if there were any. Says how many bytes went."""
        if self.back is None:
            return 0
        self._await()
        self.back = None
        return self.size

    def _await(self) -> None:
        for event in (self.away, self.ready):
            if event is not None:
                torch.cuda.current_stream(self.device).wait_event(event)
        self.away = self.ready = None


class Host:
    """The host side of one run's buffers."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy] = {}
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
        """The forward is over: starts all copies to the host."""
        self._copies.clear()  # addresses mean nothing from here on
        for copy in self.order:
            copy.depart()

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
        data = copy.wait()
        view = torch.empty(0, dtype=dtype, device=data.device).set_(data.untyped_storage(), offset, shape, stride)
        if not keep:
            copy.left -= 1
            if copy.left == 0:
                traffic.gone(copy.release())
        return view

    def end_pass(self) -> None:
        for copy in self.order:
            copy.release()

    def clear(self) -> None:
        self.end_pass()
        self.settle()
        self.order.clear()


class Traffic:
    """The copies back of one pass: always as many on their way as there is room for."""

    def __init__(self) -> None:
        self._queue: deque[_Copy] = deque()
        self._out = 0

    def begin(self, hosts: Iterable[Host]) -> None:
        """A pass begins; the hosts come in the order of the forward."""
        self._queue = deque(copy for host in reversed(list(hosts)) for copy in reversed(host.order))
        self._out = sum(copy.size for copy in self._queue if copy.source is not None)

    def pump(self, room: int) -> None:
        """Starts copies back within the room."""
        while self._queue:
            here = self._queue[0].source is not None
            if not here and self._out + self._queue[0].size > room:
                return
            copy = self._queue.popleft()
            if copy.back is None:
                self._out += 0 if here else copy.size
                copy.fetch()

    def wanted(self, copy: _Copy) -> None:
        """It is read now, whether there is room or not."""
        if copy.back is None and copy.source is None:
            self._out += copy.size

    def gone(self, size: int) -> None:
        self._out -= size
