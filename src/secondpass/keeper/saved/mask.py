# SPDX-License-Identifier: BSD-3-Clause
"""Saved tensors of only two values, held as bits.

A dropout on the CPU saves its noise in the precision of its input: zero and one other value. One bit for each number is
enough to make it again, and takes a twentieth of the time of drawing the numbers once more. On a GPU it saves a mask of
a byte for each.
"""

from __future__ import annotations

import functools

import torch

__all__ = ["LEAST", "Bits", "as_bits", "bits_of"]

LEAST = 1 << 12  # numbers: of fewer there is little to win
_BITS = 8
_NOISE = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
_PLACES = 2 ** torch.arange(_BITS, dtype=torch.uint8, device="cpu").unsqueeze(1)


class Bits:
    """A dense tensor of booleans, or of zeros and one other number."""

    __slots__ = ("_bits", "_values", "nbytes")

    def __init__(self, bits: torch.Tensor, values: torch.Tensor | None) -> None:
        self._bits, self._values, self.nbytes = bits, values, bits.numel()
        # `values` is what each place of a byte is to be multiplied by; None for booleans.

    def make(self) -> torch.Tensor:
        """The numbers, in the order of their memory."""
        with torch.no_grad():
            found = self._bits & _places(self._bits.device)
            if self._values is None:
                return found.bool().view(-1)
            return found.to(self._values.dtype).mul_(self._values).view(-1)  # exact: powers of two


def bits_of(nbytes: int, dtype: torch.dtype) -> int:
    """How many bytes are left of so many."""
    return nbytes // (_BITS * dtype.itemsize)


def as_bits(tensor: torch.Tensor) -> Bits | None:
    """None where there are more than two values, where a bit would be lost, or there is nothing to win."""
    count = tensor.numel()
    if count < LEAST or count % _BITS or count * tensor.element_size() != tensor.untyped_storage().nbytes():
        return None
    flat = tensor.detach().as_strided((count,), (1,), 0)
    if tensor.dtype == torch.bool:
        return Bits(_packed(flat.view(torch.uint8)), None)  # memory may hold more than ones
    if tensor.dtype not in _NOISE or tensor.device.type != "cpu":
        return None
    values = flat.max() / _PLACES
    if tensor.element_size() > 2:
        bits = (_PLACES.to(flat.dtype).view(-1) @ flat.view(_BITS, -1).sign()).to(torch.uint8)
    else:
        bits = _packed(flat)
    found = Bits(bits, values)
    return found if torch.equal(found.make().view(torch.int64), flat.view(torch.int64)) else None


def _packed(flat: torch.Tensor) -> torch.Tensor:
    """One bit for each number that is not zero."""
    rows = flat.ne(0).view(torch.uint8).view(_BITS, -1)
    rows = rows[:4] | (rows[4:] << 4)
    rows = rows[:2] | (rows[2:] << 2)
    return rows[0] | (rows[1] << 1)


@functools.cache
def _places(device: torch.device) -> torch.Tensor:
    return _PLACES.to(device)
