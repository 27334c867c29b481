# SPDX-License-Identifier: BSD-3-Clause
"""Random numbers: the generator and the transformations that PyTorch uses on the CPU, so that a seed means the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["Generator", "default_generator", "manual_seed"]


class Generator:
    """The Mersenne twister with PyTorch's ways of drawing from it."""

    def __init__(self, device: Any = "cpu", seed: int = 67280421310721) -> None:
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        self._twister = np.random.MT19937()
        self._twister._legacy_seeding(int(seed) & 0xFFFFFFFF)
        self._spare: float | None = None
        return self

    def get_state(self) -> Any:
        return self._twister.state, self._spare

    def set_state(self, state: Any) -> None:
        self._twister.state, self._spare = state

    def _words(self, count: int) -> Any:
        return np.atleast_1d(self._twister.random_raw(count))

    def uniform(self, shape: tuple[int, ...], kind: Any) -> Any:
        count = math.prod(shape)
        if kind == np.float64:
            words = self._words(2 * count)
            wide = (words[0::2] << np.uint64(32)) | words[1::2]
            return ((wide & np.uint64(2**53 - 1)) * 2.0**-53).reshape(shape)
        return ((self._words(count) & np.uint64(2**24 - 1)) * 2.0**-24).astype(kind).reshape(shape)

    def normal(self, shape: tuple[int, ...], kind: Any) -> Any:
        count = math.prod(shape)
        if count < 16:
            return np.array([self._one() for _ in range(count)], kind).reshape(shape)
        out = self.uniform((count,), kind)
        whole = count // 16 * 16
        out[:whole] = _pairs(out[:whole])
        if count % 16:
            out[-16:] = _pairs(self.uniform((16,), kind))
        return out.reshape(shape)

    def _one(self) -> float:
        if self._spare is not None:
            found, self._spare = self._spare, None
            return found
        u, v = self.uniform((2,), np.float64)
        radius, angle = math.sqrt(-2 * math.log1p(-v)), 2 * math.pi * u
        self._spare = radius * math.sin(angle)
        return radius * math.cos(angle)

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> Any:
        words = self._words(math.prod(shape)) % np.uint64(high - low)
        return words.astype(np.int64).reshape(shape) + low

    def permutation(self, count: int) -> Any:
        out = np.arange(count)
        for i, word in enumerate(self._words(max(count - 1, 0)) if count > 1 else ()):
            j = i + int(word) % (count - i)
            out[i], out[j] = out[j], out[i]
        return out


def _pairs(u: Any) -> Any:
    blocks = u.reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - blocks[:, 0])), 2 * np.pi * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1).astype(u.dtype).reshape(-1)


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    return default_generator.manual_seed(seed)
