# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's functions depend on besides their arguments: taken down, and put back while they are run again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..errors import KeepError

__all__ = [
    "Autocast", "Settings", "attention_backends", "autocast_now", "top_hooks", "under_autocast", "under_backends",
]  # fmt: skip

Autocast = tuple[tuple[str, bool, torch.dtype], ...]
_Setting = tuple[Callable[[], Any], Callable[[Any], Any]]
_c: Any = torch._C
_KINDS = ("all", "matmul", "conv", "rnn")


def _cannot_tell(ignore_tracing: bool) -> Any:
    raise KeepError(
        f"To keep a forward within a budget needs PyTorch 2.10 or later (this is {torch.__version__}): before, saved tensors "
        "do not tell what they hold. `secondpass.keep(model)` alone holds everything, with any version."
    )


top_hooks: Callable[[bool], Any] = (
    torch._C._autograd._top_saved_tensors_default_hooks
    if hasattr(torch._C._autograd.SavedTensor, "unpack_hook")
    else _cannot_tell
)
"""The saved-tensor hooks that are at work in this thread, or None."""


def autocast_now() -> Autocast:
    """Which kinds of devices cast by themselves, and to what."""
    return tuple([(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in _devices()])


@functools.cache
def _devices() -> tuple[str, ...]:
    return ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


def under_autocast(state: Autocast) -> None:
    for kind, enabled, dtype in state:
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)


def attention_backends() -> tuple[Any, ...]:
    """Which kernels attention may choose from, and in which order it tries them."""
    return (
        torch._C._get_flash_sdp_enabled(),
        torch._C._get_mem_efficient_sdp_enabled(),
        torch._C._get_math_sdp_enabled(),
        torch._C._get_cudnn_sdp_enabled(),
        _c._get_math_sdp_allow_fp16_bf16_reduction(),
        tuple(_c._get_sdp_priority_order()),
    )


def under_backends(state: tuple[Any, ...]) -> None:
    torch._C._set_sdp_use_flash(state[0])
    torch._C._set_sdp_use_mem_efficient(state[1])
    torch._C._set_sdp_use_math(state[2])
    torch._C._set_sdp_use_cudnn(state[3])
    _c._set_math_sdp_allow_fp16_bf16_reduction(state[4])
    _c._set_sdp_priority_order(list(state[5]))


def _matmul_precision() -> str | None:
    """By the old name. PyTorch refuses to tell it where it was set by the new ones, which are told apart below."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return None


def _precisions(backend: str, *ops: str) -> list[_Setting]:
    """How exact products of single precision are; older versions have the old name only."""
    read, write = (getattr(_c, f"_{verb}_fp32_precision_{verb}ter", None) for verb in ("get", "set"))
    if read is None or write is None:
        return []
    return [(functools.partial(read, backend, op), functools.partial(write, backend, op)) for op in ops]


def _reductions(*names: str) -> list[_Setting]:
    """How products of half precision are added up: one setting or two, or none, as the version of PyTorch has it."""
    found: list[_Setting] = []
    for name in names:
        read, write = (getattr(_c, f"_{verb}_cublas_allow_{name}", None) for verb in ("get", "set"))
        if read is not None and write is not None:
            found.append((read, functools.partial(_written, write)))
    return found


def _written(write: Callable[..., Any], value: Any) -> None:
    write(*value) if isinstance(value, tuple) else write(value)


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _set_deterministic(state: tuple[bool, bool]) -> None:
    _c._set_deterministic_algorithms(state[0], warn_only=state[1])


_SETTINGS: tuple[_Setting, ...] = (
    (torch.get_default_dtype, torch.set_default_dtype),
    (_deterministic, _set_deterministic),
    (torch._C._get_cudnn_enabled, torch._C._set_cudnn_enabled),
    (torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark),
    (torch._C._get_cudnn_deterministic, torch._C._set_cudnn_deterministic),
    (torch._C._get_mkldnn_enabled, torch._C._set_mkldnn_enabled),
    *_reductions("bf16_reduced_precision_reduction", "fp16_reduced_precision_reduction", "fp16_accumulation"),
    (_matmul_precision, torch.set_float32_matmul_precision),
    *_precisions("generic", "all"),
    *_precisions("cuda", *_KINDS),
    *_precisions("mkldnn", *_KINDS),
)
"""What is general stands before what is special: to write the one changes what is read of the other."""


_THREADS = (torch.get_num_threads, torch.set_num_threads)


class Settings:
    """PyTorch's settings at the time of a forward.

    How many threads work matters on a CPU, where passes run in the thread that starts them. A GPU's passes run in
    threads of PyTorch's own, which may have another number, and to change it starts threads anew.
    """

    def __init__(self, on_gpu: bool) -> None:
        self._settings = _SETTINGS if on_gpu else (_THREADS, *_SETTINGS)
        self._readers = [read for read, _ in self._settings]
        self._values = [read() for read in self._readers]

    def put_back(self) -> Callable[[], None] | None:
        """Makes them as they were, and nobody cast. Returns what undoes that, or None where there is nothing to undo."""
        now = [read() for read in self._readers]
        casting = torch._C._is_any_autocast_enabled()
        if now == self._values and not casting:
            return None
        autocast = autocast_now() if casting else ()

        def undo() -> None:
            under_autocast(autocast)
            self._put(now)

        try:
            self._put(self._values)
            under_autocast(tuple((kind, False, dtype) for kind, _, dtype in autocast))
        except BaseException:
            undo()
            raise
        return undo

    def _put(self, values: list[Any]) -> None:
        for (read, write), value in zip(self._settings, values, strict=True):
            if value is not None and read() != value:
                write(value)
