# SPDX-License-Identifier: BSD-3-Clause
"""Who makes a pass within a pass: a node with a backward in Python, as a reentrant checkpoint has, that calls the engine."""

from __future__ import annotations

from types import FrameType
from typing import Any

import torch

from .objects import local

__all__ = ["maker"]

_NODE = torch.autograd.function.BackwardCFunction
_ENTRANCES = {
    method.__code__ for name in ("apply", "apply_boxed") if (method := getattr(_NODE, name, None)) is not None
}
_ENGINE = torch.autograd.graph._engine_run_backward.__code__
_FAR = 64


def maker(frame: FrameType | None) -> Any:
    """The node whose backward a frame runs in; None where the pass around it was not made by a node's backward (a hook)."""
    for _ in range(_FAR):
        if frame is None or frame.f_code is _ENGINE:
            return None
        if frame.f_code in _ENTRANCES:
            with local(frame) as names:
                return names.get("self")
        frame = frame.f_back
    return None
