# SPDX-License-Identifier: BSD-3-Clause
"""Which versions of torch can be watched."""

from __future__ import annotations

import torch

__all__ = ["OLDEST", "reason_not_to_watch", "torch_version"]

# The oldest that was tried: docs/versions.md.
OLDEST = (2, 6)
_NEEDED = ("_engine_run_backward", "_get_sequence_nr")


def torch_version() -> tuple[int, ...]:
    """The version of torch: (2, 13)."""
    return tuple(int(p) for p in torch.__version__.split("+")[0].split(".")[:2] if p.isdigit())


def reason_not_to_watch() -> str:
    """Why this torch cannot be watched, or ""."""
    if torch_version() < OLDEST:
        return f"torch {torch.__version__} is too old to be watched ({OLDEST[0]}.{OLDEST[1]} or newer is needed)"
    missing = [name for name in _NEEDED if not hasattr(torch.autograd, name)]
    return f"torch {torch.__version__} has no torch.autograd.{missing[0]}" if missing else ""
