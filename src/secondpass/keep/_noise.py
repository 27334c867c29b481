# SPDX-License-Identifier: BSD-3-Clause
"""Buffers of only two values, zero and another one, held as bits.

A dropout on the CPU saves its noise in the precision of its input. One bit for each number is enough to make it again,
and takes a twentieth of the time of throwing the dice once more. On a GPU it saves a mask of a byte for each: there a
plan that holds it as it is does as well, unless what does not fit has to travel to the host.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

__all__ = ["Mask", "Noise", "noise"]

_LEAST = 1 << 12  # numbers: of fewer there is little to win
_BITS = 8
_PLACES = 2 ** torch.arange(_BITS, dtype=torch.uint8, device="cpu").unsqueeze(1)


class Noise:
    """Makes one storage again, once it has been taken. Stands in the place of a recipe: see NOTE [ Derived buffers ]."""

    __slots__ = ("_bits", "_values", "nbytes", "spoiled")
    sources = ()

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self.spoiled = False
        self._bits: torch.Tensor | None = None
        self._values: torch.Tensor | None = None
        """What each place of a byte is to be multiplied by."""

    @property
    def ready(self) -> bool:
        return self._bits is not None

    @property
    def rest(self) -> int:
        """The bytes of the bits."""
        return 0 if self._bits is None else self._bits.numel()

    def take(self, tensor: torch.Tensor) -> bool:
        """Takes the values down. False where there are more than two, or a bit would be lost."""
        flat = tensor.detach().as_strided((tensor.numel(),), (1,), 0)
        self._values = flat.max() / _PLACES
        self._bits = (_PLACES.to(flat.dtype).view(-1) @ flat.view(_BITS, -1).sign()).to(torch.uint8)
        if not torch.equal(self.make([]).view(torch.int64), flat.view(torch.int64)):
            self.clear()
        return self.ready

    def make(self, _: list[Any]) -> torch.Tensor:
        with torch.no_grad():
            return (self._bits & _PLACES).to(self._values.dtype).mul_(self._values).view(-1)  # exact: powers of two

    def clear(self) -> None:
        self._bits = self._values = None


class Mask(Noise):
    """Makes a tensor of booleans again."""

    __slots__ = ("_home",)

    def __init__(self, nbytes: int) -> None:
        super().__init__(nbytes)
        self._home: torch.device | None = None
        """The device, while the bits are on the host."""

    def take(self, tensor: torch.Tensor) -> bool:
        flat = tensor.detach().as_strided((tensor.numel(),), (1,), 0).view(torch.uint8)
        rows = flat.ne(0).view(torch.uint8).view(_BITS, -1)  # memory seen as booleans may hold more than ones
        rows = rows[:4] | (rows[4:] << 4)
        rows = rows[:2] | (rows[2:] << 2)
        self._bits = rows[0] | (rows[1] << 1)
        return True

    @property
    def rest(self) -> int:
        return super().rest if self._home is None else 0

    def leave(self) -> None:
        """Moves the bits to the host: nobody is expected to ask for them again."""
        bits = self._bits
        if bits is not None and bits.device.type == "cuda":
            self._home, self._bits = bits.device, torch.empty(bits.shape, dtype=bits.dtype, pin_memory=True)
            self._bits.copy_(bits, non_blocking=True)

    def make(self, _: list[Any]) -> torch.Tensor:
        bits = self._bits
        if self._home is not None:
            torch.cuda.synchronize(self._home)  # the copy may still be on its way
            bits = bits.to(self._home)
        return (bits & _places(bits.device)).bool().view(-1)


@functools.cache
def _places(device: torch.device) -> torch.Tensor:
    return _PLACES.to(device)


def noise(tensor: torch.Tensor, nbytes: int, masks: bool = False) -> Noise | None:
    """Might this be one? It has no history, is dense, and has its memory for itself."""
    count = tensor.numel()
    if count < _LEAST or count % _BITS or count * tensor.element_size() != nbytes or type(tensor) is not torch.Tensor:
        return None
    if masks and tensor.dtype == torch.bool:
        return Mask(nbytes)
    if tensor.requires_grad or tensor.dtype not in (torch.float32, torch.float64) or tensor.device.type != "cpu":
        return None
    return Noise(nbytes)
