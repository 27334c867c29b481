# SPDX-License-Identifier: BSD-3-Clause
"""The state of PyTorch's generators around one operation that draws from them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["Draw"]

_lock = threading.Lock()
_TRIES = 8


class _Disturbed(RuntimeError):
    """Another thread has drawn from the same generator in the meantime."""


class Draw:
    """Where a generator stood before an operation, and where it stood afterwards."""

    __slots__ = ("_after", "_before", "_device")

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._before = _read(device)
        self._after: torch.Tensor | tuple[int, int] | None = None

    def done(self) -> None:
        """The operation has drawn its numbers."""
        self._after = _read(self._device)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Within, the same numbers are drawn. Afterwards the generator stands where it stood.

        Other threads may draw meanwhile: that the generator has come to where it came to before tells that they have not.
        Raises where they have.
        """
        with _lock:
            now = _read(self._device)
            _write(self._device, self._before)
            try:
                yield
                if self._after is not None and not _same(_read(self._device), self._after):
                    raise _Disturbed("another thread has drawn random numbers while an operation was computed again.")
            finally:
                _write(self._device, now)

    @staticmethod
    def tries() -> Iterator[bool]:
        """Yields whether this is the last try."""
        for left in reversed(range(_TRIES)):
            yield left == 0

    disturbed = _Disturbed


def _read(device: torch.device) -> torch.Tensor | tuple[int, int]:
    if device.type == "cuda":
        generator = _generator(device)
        return generator.initial_seed(), generator.get_offset()
    return torch.get_rng_state()


def _write(device: torch.device, state: torch.Tensor | tuple[int, int]) -> None:
    if isinstance(state, torch.Tensor):
        torch.set_rng_state(state)
        return
    generator, (seed, offset) = _generator(device), state
    if generator.initial_seed() != seed:
        generator.manual_seed(seed)
    generator.set_offset(offset)


def _generator(device: torch.device) -> torch.Generator:
    return torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]


def _same(one: torch.Tensor | tuple[int, int], other: torch.Tensor | tuple[int, int]) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return torch.equal(one, other)
    return one == other
