# SPDX-License-Identifier: BSD-3-Clause
"""Buffers on the host: each storage moves once, on a stream of its own.

NOTE [ Streams ]
1. Copies to the host start when the forward of the unit is over, for until then parts of a storage may still be
   written that other buffers live in. The memory is given back once the stream of the kernels has been told to wait
   for the copy: so nothing can be written there too early, and the host never waits.
2. A copy back writes to memory given by the stream of the kernels, and waits for what that stream was doing with it.
   The kernels wait for the copy when the buffer is read.
3. On the CPU both are plain copies, and reading gives the same bits.
"""

from __future__ import annotations

from typing import Any

import torch

from ._graph import storage_of

__all__ = ["Host"]

_streams: dict[tuple[torch.device, str], Any] = {}


def _stream(device: torch.device, way: str) -> Any:
    key = (device, way)
    if key not in _streams:
        _streams[key] = torch.cuda.Stream(device)
    return _streams[key]


class _Copy:
    """One storage: on the host, and during a pass perhaps back on the device."""

    __slots__ = ("away", "back", "device", "host", "ready", "size", "source")

    def __init__(self, source: torch.Tensor) -> None:
        self.device, self.size = source.device, source.numel()
        self.source: torch.Tensor | None = source
        self.back: torch.Tensor | None = None
        self.host: torch.Tensor | None = None
        self.away: Any = None
        self.ready: Any = None

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

    def settle(self) -> None:
        """See NOTE [ Streams ] 1."""
        if self.source is not None and self.away is not None:
            torch.cuda.current_stream(self.device).wait_event(self.away)
        self.source = None

    def fetch(self) -> None:
        """Starts the copy back."""
        if self.back is not None:
            return
        if self.device.type != "cuda":
            self.back = self.host.clone()
            return
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


class Host:
    """The host side of one run's buffers."""

    def __init__(self) -> None:
        self._copies: dict[int, _Copy] = {}
        self._order: list[_Copy] = []
        self._readers: dict[int, int] = {}
        self._left: dict[int, int] = {}

    def put(self, tensor: torch.Tensor) -> Any:
        """Takes a buffer; returns what finds it again."""
        key, _ = storage_of(tensor)
        copy = self._copies.get(key)
        if copy is None:
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            copy = self._copies[key] = _Copy(whole)
            self._order.append(copy)
        self._readers[id(copy)] = self._readers.get(id(copy), 0) + 1
        return copy, tensor.dtype, tensor.stride(), tensor.storage_offset()

    def depart(self) -> None:
        """The forward is over: starts all copies to the host."""
        self._copies.clear()  # addresses mean nothing from here on
        for copy in self._order:
            copy.depart()

    def settle(self) -> None:
        """Gives the device's memory back."""
        for copy in self._order:
            copy.settle()

    def prefetch(self) -> None:
        """Starts all copies back, in the order in which a pass wants them."""
        for copy in reversed(self._order):
            copy.fetch()
        self._left = dict(self._readers)

    def get(self, handle: Any, shape: torch.Size, keep: bool = False) -> torch.Tensor:
        """The buffer. The last of its readers takes it along, unless it is to `keep`."""
        copy, dtype, stride, offset = handle
        data = copy.wait()
        view = torch.empty(0, dtype=dtype, device=data.device).set_(data.untyped_storage(), offset, shape, stride)
        if keep:
            return view
        left = self._left.get(id(copy), 0) - 1
        self._left[id(copy)] = left
        if left == 0:
            copy.back = None  # its readers hold it from here on
        return view

    def end_pass(self) -> None:
        self._left.clear()
        for copy in self._order:
            copy.back = copy.ready = None

    def clear(self) -> None:
        self._order.clear()
        self._readers.clear()
        self._left.clear()

    @property
    def on_host(self) -> int:
        return sum(copy.size for copy in self._order)
