# SPDX-License-Identifier: BSD-3-Clause
"""Many losses: one walk for their sum, and one gradient per loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import torch

from ..budget.size import parse_budget
from .jacobian import Jacobian, Row, stack_rows
from .join import join
from ..tree import tensors

__all__ = ["backward", "grads"]


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


@overload
def grads(
    losses: Any,
    inputs: Any,
    *,
    budget: int | float | str | None = None,
    retain_graph: bool = False,
    stacked: Literal[False] = False,
) -> list[Row]: ...


@overload
def grads(
    losses: Any,
    inputs: Any,
    *,
    budget: int | float | str | None = None,
    retain_graph: bool = False,
    stacked: Literal[True],
) -> list[torch.Tensor | None]: ...


def grads(
    losses: Any,
    inputs: Any,
    *,
    budget: int | float | str | None = None,
    retain_graph: bool = False,
    stacked: bool = False,
) -> list[Row] | list[torch.Tensor | None]:
    """Returns one gradient per loss: the rows of the Jacobian, one tuple (a tensor or None per input) for each loss.

    Finds where the graphs of the losses join. What only one loss needs is walked for that loss alone; the shared part
    is walked for several losses at once where that is faster and fits the budget, one by one otherwise. The first calls
    try which way is fastest. Walked at once, results equal those of separate passes up to rounding.

    :param losses: Scalars, or one tensor each of whose elements is a loss.
    :param inputs: Tensors (parameters, activations) to differentiate by.
    :param budget: The most bytes that walking at once may take; by default what walking one by one would take.
    :param retain_graph: Keeps the graph for later passes.
    :param stacked: Returns one tensor per input instead, with the gradients of all losses along its first dimension
        (zeros for a loss that does not depend on the input, None if none does).

    Example::

        >>> import secondpass, torch
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> secondpass.grads([w.sum(), (w * w).sum()], [w])
        [(tensor([1., 1.]),), (tensor([2., 4.]),)]
        >>> secondpass.grads([w.sum(), (w * w).sum()], [w], stacked=True)
        [tensor([[1., 1.],
                [2., 4.]])]
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
    allowed = None if budget is None else parse_budget(budget, wanted[0].device)
    joined = join(roots, wanted) if len(roots) > 1 else None
    if joined is not None:
        found = Jacobian(joined, wanted, allowed, retain_graph)
        return found.stacked() if stacked else found.rows()
    rows = [
        torch.autograd.grad(root, wanted, retain_graph=retain_graph or number < len(roots) - 1, allow_unused=True)
        for number, root in enumerate(roots)
    ]
    return stack_rows(rows) if stacked else rows
