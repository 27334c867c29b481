# SPDX-License-Identifier: BSD-3-Clause
"""Modes of others, around a forward or a pass, see nothing of what keep does besides."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes

__all__ = ["dispatched", "overridden", "unseen"]

dispatched: Callable[[], int] = torch._C._len_torch_dispatch_stack
"""How many dispatch modes are at work in this thread."""
overridden: Callable[[], int] = torch._C._len_torch_function_stack
"""And how many function modes."""


def unseen() -> contextlib.AbstractContextManager[object]:
    """Within, no mode sees anything."""
    return _without_modes() if dispatched() else torch._C.DisableTorchFunction()


@contextlib.contextmanager
def _without_modes() -> Iterator[None]:
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        yield
