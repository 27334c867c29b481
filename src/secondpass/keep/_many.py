# SPDX-License-Identifier: BSD-3-Clause
"""Many losses: one walk for their sum, and one gradient per loss."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge, get_gradient_edge

from ._budget import parse_budget
from ._chunks import Chunks
from ._graph import walk
from ._join import Join, join
from ._late import release_spent
from ._tree import tensors

__all__ = ["backward", "grads"]

Row = tuple[torch.Tensor | None, ...]


def backward(
    *losses: Any,
    weights: Sequence[float | torch.Tensor] | None = None,
    inputs: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> None:
    """Sends all losses back in one walk: the gradient of their (weighted) sum, without `retain_graph`.

    The shared part of the graph is walked once, so two losses cost about as much as one. With DDP gradients are
    reduced once, and rightly: several passes over one forward are not.

    :param losses: Scalars, also in lists or dicts.
    :param weights: One factor per loss.

    Example::

        >>> import secondpass, torch
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> y = w * w
        >>> secondpass.backward(y, y * 2, weights=[1.0, 0.5])
        >>> w.grad
        tensor(12.)
    """
    roots = list(tensors(losses))
    if not roots:
        raise ValueError("`backward` should be given at least one loss.")
    if weights is None:
        seeds: list[torch.Tensor | None] = [None] * len(roots)
    else:
        if len(weights) != len(roots):
            raise ValueError(f"`weights` should have one factor per loss. (got {len(weights)} for {len(roots)})")
        seeds = [_seed(loss, weight) for loss, weight in zip(roots, weights, strict=True)]
    torch.autograd.backward(roots, seeds, retain_graph=retain_graph, create_graph=create_graph, inputs=inputs)


def _seed(loss: torch.Tensor, weight: float | torch.Tensor) -> torch.Tensor:
    if loss.numel() != 1:
        raise ValueError(f"each loss should be a scalar. (got one of shape {tuple(loss.shape)})")
    if isinstance(weight, torch.Tensor):
        return weight.to(loss).reshape(loss.shape)
    return torch.full_like(loss, weight, requires_grad=False)


def grads(
    losses: Any, inputs: Any, *, budget: int | float | str | None = None, retain_graph: bool = False
) -> list[Row]:
    """Returns one gradient per loss: the rows of the Jacobian, one tuple (a tensor or None per input) for each loss.

    Finds where the graphs of the losses join. What only one loss needs is walked for that loss alone; the shared part
    is walked for several losses at once where that is faster and fits the budget, one by one otherwise.
    Walked at once, results equal those of separate passes up to rounding.

    :param losses: Scalars, or one tensor each of whose elements is a loss.
    :param inputs: Tensors (parameters, activations) to differentiate by.
    :param budget: The most bytes that walking at once may take; by default a quarter of what the results take.
    :param retain_graph: Keeps the graph for later passes.

    Example::

        >>> import secondpass, torch
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> secondpass.grads([w.sum(), (w * w).sum()], [w])
        [(tensor([1., 1.]),), (tensor([2., 4.]),)]
    """
    if isinstance(losses, torch.Tensor):
        losses = losses.reshape(-1).unbind()
    roots, wanted = list(tensors(losses)), list(tensors(inputs))
    if not roots or not wanted:
        raise ValueError("`grads` should be given at least one loss and one input.")
    for root in roots:
        if root.numel() != 1:
            raise ValueError(f"each loss should be a scalar. (got one of shape {tuple(root.shape)})")
        if not root.requires_grad:
            raise ValueError("each loss should have a history: one of them does not require grad.")
    for value in wanted:
        if not value.requires_grad:
            raise ValueError(f"each input should require grad. (got one of shape {tuple(value.shape)} that does not)")
    if len(roots) == 1:
        return [torch.autograd.grad(roots, wanted, retain_graph=retain_graph, allow_unused=True)]
    allowed = None if budget is None else parse_budget(budget, wanted[0].device)
    joined = join(roots)
    if joined is None:
        return [
            torch.autograd.grad(root, wanted, retain_graph=retain_graph or number < len(roots) - 1, allow_unused=True)
            for number, root in enumerate(roots)
        ]
    return _Walk(joined, wanted, allowed, retain_graph).rows()


class _Walk:
    """The heads one by one, then the trunk in chunks."""

    def __init__(self, joined: Join, wanted: list[torch.Tensor], budget: int | None, retain: bool) -> None:
        self.joined, self.wanted, self.budget, self.retain = joined, wanted, budget, retain
        self.direct: list[Row] = []
        self.seeds: list[list[torch.Tensor | None]] = []
        self.edges = [GradientEdge(node, number) for node, number in joined.edges]
        nodes = [get_gradient_edge(value).node for value in wanted]
        self.trunk = [not joined.head_only(node) for node in nodes]
        self.reached = joined.reached(nodes)

    def rows(self) -> list[Row]:
        for number, root in enumerate(self.joined.roots):
            self._head(number, root)
        count, result = len(self.seeds), []
        sizes = self._sizes(count)
        for size in sizes:
            chunk = range(len(result), len(result) + size)
            start = self._clock() if sizes.trying else 0.0
            result += self._trunk(chunk, chunk.stop == count and not self.retain, sizes.kind)
            if sizes.trying:
                sizes.took((self._clock() - start) / size)
        return result

    def _clock(self) -> float:
        if self.wanted[0].device.type == "cuda":
            torch.cuda.synchronize(self.wanted[0].device)
        return time.perf_counter()

    def _sizes(self, count: int) -> Chunks:
        shapes = tuple(None if seed is None else tuple(seed.shape) for seed in self.seeds[0])
        kind = (shapes, len(self.joined.shared), len(self.wanted), self.wanted[0].device, count)
        return Chunks(kind, count, self._fitting())

    def _fitting(self) -> int:
        """Losses per chunk: each takes its seeds and results, and gradients on the way of about the same size."""
        row = sum(value.numel() * value.element_size() for value in self.wanted)
        way = 16 * sum(seed.numel() * seed.element_size() for seed in self.seeds[0] if seed is not None)
        if self.budget is None:
            return max(1, len(self.seeds) * row // 4 // max(1, way))
        return max(1, self.budget // max(1, 2 * row + way))

    def _head(self, number: int, root: torch.Tensor) -> None:
        mine = self.joined.cuts[number]
        own = [index for index, shared in enumerate(self.trunk) if not shared]
        targets = [self.edges[edge] for edge in mine] + [self.wanted[index] for index in own]
        found = torch.autograd.grad(root, targets, retain_graph=True, allow_unused=True)
        seeds: list[torch.Tensor | None] = [None] * len(self.edges)
        for edge, value in zip(mine, found, strict=False):
            seeds[edge] = value
        row: list[torch.Tensor | None] = [None] * len(self.wanted)
        for index, value in zip(own, found[len(mine) :], strict=True):
            row[index] = value
        self.seeds.append(seeds)
        self.direct.append(tuple(row))

    def _trunk(self, chunk: range, final: bool, kind: Any) -> list[Row]:
        if len(chunk) > 1 and kind.works is not False:
            # Not enough memory, or an operation without a rule for it: one by one will do. Until it is known that
            # all goes well, the graph is let go of only afterwards: a walk that fails half-way must not spend it.
            try:
                rows = self._at_once(chunk, final and kind.works is True)
            except (RuntimeError, NotImplementedError):
                kind.works = False
            else:
                if final and kind.works is None:
                    release_spent(walk([root.grad_fn for root in self.joined.roots]))
                kind.works = True
                return rows
        return [self._one(number, final and number == chunk.stop - 1) for number in chunk]

    def _one(self, number: int, final: bool) -> Row:
        pairs = [(e, s) for e, s in zip(self.edges, self.seeds[number], strict=True) if s is not None]
        inputs = [value for value, shared in zip(self.wanted, self.trunk, strict=True) if shared]
        if not pairs or not inputs:
            return self.direct[number]
        edges, seeds = zip(*pairs, strict=True)
        found = torch.autograd.grad(edges, inputs, seeds, retain_graph=not final, allow_unused=True)
        self.seeds[number] = []
        return self._merge(number, found)

    def _at_once(self, chunk: range, final: bool) -> list[Row]:
        edges, seeds = [], []
        for place, edge in enumerate(self.edges):
            column = [self.seeds[number][place] for number in chunk]
            like = next((value for value in column if value is not None), None)
            if like is not None:
                edges.append(edge)
                seeds.append(torch.stack([torch.zeros_like(like) if v is None else v for v in column]))
        inputs = [value for value, shared in zip(self.wanted, self.trunk, strict=True) if shared]
        if not edges or not inputs:
            return [self.direct[number] for number in chunk]
        found = torch.autograd.grad(
            edges, inputs, seeds, retain_graph=not final, allow_unused=True, is_grads_batched=True
        )
        for number in chunk:
            self.seeds[number] = []
        rows = zip(*([None] * len(chunk) if value is None else value.unbind() for value in found), strict=True)
        return [self._merge(number, row) for number, row in zip(chunk, rows, strict=True)]

    def _merge(self, number: int, found: Row) -> Row:
        shared = iter(found)
        row = [next(shared) if t else d for t, d in zip(self.trunk, self.direct[number], strict=True)]
        # Walked together with others, a loss that does not depend on an input gives zeros; alone it gives nothing.
        return tuple(
            None if t and not r else value for t, r, value in zip(self.trunk, self.reached[number], row, strict=True)
        )
