# SPDX-License-Identifier: BSD-3-Clause
"""The examples of the pages: two programs each, one with the fault and one without."""

from __future__ import annotations

import re

from secondpass.causes import Cause

from ..docs.blocks import blocks

__all__ = ["FOUND_AS", "ON_TORCH", "RAISES", "on_specification", "programs", "sections"]

ON_TORCH = {"unreduced-pass", "ready-twice", "unfinished-reduction", "overwritten-output"}
"""Causes whose programs need what only PyTorch has: several processes, a compiler."""

_TWICE = "Trying to backward through the graph a second time"
_CHANGED = "modified by an inplace operation"

# What the faulty program of a page ends with; silent causes are not here: theirs come to their end.
RAISES = {
    "repeated-backward": _TWICE,
    "shared-forward": _TWICE,
    "carried-state": _TWICE,
    "hoisted-forward": _TWICE,
    "accumulated-loss": _TWICE,
    "crossed-networks": _TWICE,
    "stored-history": _TWICE,
    "freed-access": _TWICE,
    "missing-create-graph": _TWICE,
    "step-between": _CHANGED,
    "inplace-change": _CHANGED,
    "ready-twice": "mark a variable ready only once",
    "unfinished-reduction": "finished reduction in the prior iteration",
    "lost-history": "does not require grad and does not have a grad_fn",
}

# What a page's program is found to be, where its own cause does not show in so small a program: no memory runs out.
FOUND_AS = {"out-of-memory": "graph-leak"}


def programs(cause: Cause) -> tuple[str, str]:
    """The program with the fault, and the repaired one."""
    faulty, repaired = (block.text for block in blocks(cause.page) if block.language == "python")
    return faulty, repaired


def on_specification(program: str) -> str:
    """The same program without PyTorch."""
    assert program.startswith("import torch\n")
    return program.replace("import torch\n", "import secondpass.autograd as torch\n", 1)


def sections(page: str) -> dict[str, str]:
    """Heading -> text below it."""
    head, *rest = re.split(r"^## (.+)\n", page, flags=re.MULTILINE)
    return {"": head, **dict(zip(rest[::2], rest[1::2], strict=True))}
