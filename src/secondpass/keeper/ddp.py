# SPDX-License-Identifier: BSD-3-Clause
"""Several passes over one forward of DistributedDataParallel.

DDP reduces gradients in the first pass after a forward only; later ones add to `.grad` on each rank alone, silently.
Its reducer can be told to expect another pass. The gradients of earlier passes are the same on every rank by then, so
averaging the sum again gives the right sum.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from torch import nn

from .errors import KeepError

__all__ = ["ddp_around", "prepare_ddp"]


def ddp_around(module: nn.Module | None) -> weakref.ref[Any] | None:
    """The DDP wrapper that a kept call runs in, or that it is."""
    parallel = sys.modules.get("torch.nn.parallel.distributed")
    if parallel is None:
        return None
    kind = parallel.DistributedDataParallel
    found = module if isinstance(module, kind) else getattr(kind, "_active_ddp_module", None)
    return None if found is None else weakref.ref(found)


def prepare_ddp(frames: list[Any], roots: tuple[Any, ...], accumulates: bool) -> None:
    """Before a pass that adds to `.grad`: the second and later ones over a DDP forward must be reduced too."""
    if not accumulates:
        return
    for frame in frames:
        wrapper = frame.ddp() if frame.ddp is not None else None
        if wrapper is None or not frame.ddp_synchronises:
            continue
        frame.ddp_passes += 1
        if frame.ddp_passes == 1:
            continue
        if getattr(wrapper, "static_graph", False):
            raise KeepError(
                "several passes over one DDP forward cannot be reduced with static_graph=True: use "
                "static_graph=False, or one pass with secondpass.backward(loss1, loss2)."
            )
        # After its first pass the reducer sorts its buckets anew, from a list that a second pass would double.
        wrapper.reducer._rebuild_buckets()
        find_unused = wrapper.find_unused_parameters
        wrapper.reducer.prepare_for_backward(list(roots) if find_unused else [])
