# SPDX-License-Identifier: BSD-3-Clause
"""The losses' own parts, walked for all of them at once: they share no node.

NOTE [ Seeds ]
What a loss sends into the shared part is taken from the nodes that lead there, behind them. To ask the engine for the
gradient at the border would run the hooks of the tensor there, which the walk of the shared part runs again, and would
give the sum over all losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import GradientEdge

from .join import Join

__all__ = ["Found", "Head", "Tangled", "walk_heads"]

Found = dict[int, torch.Tensor | None]
"""Gradients by the place of their input."""


class Tangled(RuntimeError):
    """Another pass went over the same nodes at the same time: what hooks have made may be of that one."""


class Head(NamedTuple):
    """What walking a loss's own part has brought."""

    seeds: list[torch.Tensor | None]
    """Gradients that enter the shared part, one for each of its edges. See NOTE [ Seeds ]."""
    own: Found


def walk_heads(joined: Join, losses: Sequence[int], wanted: list[torch.Tensor]) -> list[Head]:
    """Walks the parts of some losses. Their graphs stay."""
    heads = [Head([None] * len(joined.edges), {}) for _ in losses]
    roots, handles = [], []
    walks: set[int] = set()
    border: dict[int, None] = {}
    for number, head in zip(losses, heads, strict=True):
        if joined.cuts[number] and not joined.feeds[number]:  # the loss is a part of the border itself
            (edge,) = joined.cuts[number]
            head.seeds[edge] = torch.ones_like(joined.roots[number], memory_format=torch.preserve_format)
            continue
        roots.append(joined.roots[number])
        for node, index, edge in joined.feeds[number]:
            border[edge] = None
            handles.append(node.register_hook(partial(_take, walks, head.seeds, index, edge)))
    owners = {place: head for number, head in zip(losses, heads, strict=True) for place in joined.own[number]}
    targets: list[Any] = [GradientEdge(*joined.edges[edge]) for edge in border]
    targets += [wanted[place] for place in owners]
    if targets:
        try:
            found = torch.autograd.grad(roots, targets, retain_graph=True, allow_unused=True)
        finally:
            for handle in handles:
                handle.remove()
        for (place, head), value in zip(owners.items(), found[len(border) :], strict=True):
            head.own[place] = value
    if len(walks) > 1:
        raise Tangled
    return heads


def _take(walks: set[int], seeds: list[torch.Tensor | None], index: int, edge: int, results: Any, _: Any) -> None:
    walks.add(torch._C._current_graph_task_id())
    if results[index] is not None:
        known = seeds[edge]
        seeds[edge] = results[index] if known is None else known + results[index]
