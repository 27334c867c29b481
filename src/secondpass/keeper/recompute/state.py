# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's functions depend on besides their arguments: taken down, and put back while they are run again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

__all__ = ["Autocast", "Settings", "attention_backends", "autocast_now", "under_autocast", "under_backends"]

Autocast = tuple[tuple[str, bool, torch.dtype], ...]


def autocast_now() -> Autocast:
    """Which kinds of devices cast by themselves, and to what."""
    kinds = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
    return tuple((kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in kinds)


def under_autocast(state: Autocast) -> None:
    for kind, enabled, dtype in state:
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)


def attention_backends() -> tuple[bool, ...]:
    """Which kernels attention may choose from."""
    return (
        torch._C._get_flash_sdp_enabled(),
        torch._C._get_mem_efficient_sdp_enabled(),
        torch._C._get_math_sdp_enabled(),
        torch._C._get_cudnn_sdp_enabled(),
    )


def under_backends(state: tuple[bool, ...]) -> None:
    torch._C._set_sdp_use_flash(state[0])
    torch._C._set_sdp_use_mem_efficient(state[1])
    torch._C._set_sdp_use_math(state[2])
    torch._C._set_sdp_use_cudnn(state[3])


_SETTINGS: tuple[tuple[Callable[[], Any], Callable[[Any], Any]], ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
    (torch._C._get_cudnn_enabled, torch._C._set_cudnn_enabled),
    (torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark),
    (torch._C._get_cudnn_deterministic, torch._C._set_cudnn_deterministic),
    (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
)


class Settings:
    """PyTorch's settings at the time of a forward."""

    def __init__(self) -> None:
        self._values = tuple(read() for read, _ in _SETTINGS)

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """Within, they are as they were; and nobody casts."""
        now = tuple(read() for read, _ in _SETTINGS)
        autocast = autocast_now() if torch._C._is_any_autocast_enabled() else None
        cached = torch.is_autocast_cache_enabled()
        same = now == self._values
        try:
            if not same:
                self._put(self._values, now)
            if autocast is not None:
                under_autocast(tuple((kind, False, dtype) for kind, _, dtype in autocast))
            torch.set_autocast_cache_enabled(False)
            yield
        finally:
            torch.set_autocast_cache_enabled(cached)
            if autocast is not None:
                under_autocast(autocast)
            if not same:
                self._put(now, self._values)

    @staticmethod
    def _put(values: tuple[Any, ...], known: tuple[Any, ...]) -> None:
        for (_, write), value, before in zip(_SETTINGS, values, known, strict=True):
            if value != before:
                write(value)
