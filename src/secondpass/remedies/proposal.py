# SPDX-License-Identifier: BSD-3-Clause
"""What every kind of remedy gives: a patch with its title and whether it is safe."""

from __future__ import annotations

from dataclasses import dataclass, field

from .edit.patch import Patch

__all__ = ["Way"]


@dataclass
class Way:
    """One form of a remedy.

    `safe` means: the repaired program computes what the author's program would have computed had it not failed, for
    every input; not only on the run that proves it.
    """

    patch: Patch = field(default_factory=Patch)
    title: str = ""
    safe: bool = False
    why: str = ""
