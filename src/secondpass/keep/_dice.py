# SPDX-License-Identifier: BSD-3-Clause
"""The states of all random generators that a forward may draw from."""

from __future__ import annotations

import ctypes
import random
import sys
from typing import Any

import torch

__all__ = ["Dice"]


class Dice:
    """How the generators of PyTorch, Python and NumPy stood when this was made."""

    def __init__(self, devices: tuple[torch.device, ...]) -> None:
        self.devices = devices
        self._torch = torch.get_rng_state()
        self._cuda = [(device, torch.cuda.get_rng_state(device)) for device in devices if device.type == "cuda"]
        self._python = _python.read()
        self._numpy = _numpy.read()

    def restore(self) -> None:
        torch.set_rng_state(self._torch)
        for device, state in self._cuda:
            torch.cuda.set_rng_state(state, device)
        random.setstate(self._python)
        if self._numpy is not None:
            _numpy.write(self._numpy)


class _Python:
    """Python's shared generator. Its state is 25 kB, of which there is one for each unit: equal ones are shared."""

    def __init__(self) -> None:
        self._last: Any = None

    def read(self) -> Any:
        state, last = random.getstate(), self._last
        if state == last:
            return last
        self._last = state
        return state


class _Numpy:
    """NumPy's shared generator.

    To read or write its state takes longer than all else around a small unit, and hardly any forward draws from it. So
    the state last read is used again as long as the generator's memory, which can be looked at in no time, is the same.
    A normal number that waits for its turn is not in that memory: while there is one, nothing is used again.
    """

    def __init__(self) -> None:
        self._last: tuple[Any, bytes | None] = (None, None)

    def read(self) -> Any:
        numpy = sys.modules.get("numpy")
        if numpy is None or not hasattr(numpy, "random"):
            return None
        memory = _memory(numpy)
        state, known = self._last
        if memory is None or memory != known:
            state = numpy.random.get_state(legacy=False)
            self._last = (state, memory) if memory is not None and _is_all(state, memory) else (None, None)
        return state

    def write(self, state: Any) -> None:
        numpy = sys.modules["numpy"]
        last, known = self._last
        if last is not state or known is None or _memory(numpy) != known:
            numpy.random.set_state(state)


def _memory(numpy: Any) -> bytes | None:
    """The memory of the generator, if it is the usual one: its words, and its place among them."""
    try:
        generator = numpy.random.get_bit_generator()
    except AttributeError:  # older than 1.24
        return None
    if type(generator) is not numpy.random.MT19937:
        return None
    return ctypes.string_at(generator.ctypes.state_address, 625 * 4)


def _is_all(state: dict[str, Any], memory: bytes) -> bool:
    words, place = state["state"]["key"], state["state"]["pos"]
    return not state["has_gauss"] and memory == words.tobytes() + place.to_bytes(4, sys.byteorder)


_python = _Python()
_numpy = _Numpy()
