# SPDX-License-Identifier: BSD-3-Clause
"""Many losses: one walk for their sum, and one gradient per loss."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import torch

from ..budget.size import Share, parse_budget
from .jacobian import Jacobian, Row, stack_rows
from .join import join

__all__ = ["backward", "grads"]

Budget = int | float | str | None


def backward(
    *losses: Any,
    weights: Iterable[float | torch.Tensor] | None = None,
    inputs: Any = None,
    retain_graph: bool = False,
    create_graph: bool = False,
) -> None:
    """Sends all losses back in one walk: the gradient of their (weighted) sum, without `retain_graph`.

    The shared part of the graph is walked once, so two losses cost about as much as one. With DDP gradients are
    reduced once, and rightly: several passes over one forward are not.

    :param losses: Scalars, also in dicts, lists, or anything that can be iterated over.
    :param weights: One factor per loss. Those that are tensors and require a gradient get theirs.
    :param inputs: Only these leaves get a gradient; by default all.

    Example::

        >>> import secondpass, torch
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> y = w * w
        >>> secondpass.backward(y, y * 2, weights=[1.0, 0.5])
        >>> w.grad
        tensor(12.)
    """
    roots = _losses(losses, "backward")
    wanted = None if inputs is None else list(_flat(inputs, "input"))
    seeds: list[torch.Tensor | None] = [None] * len(roots)
    if weights is not None:
        factors = list(weights.values()) if isinstance(weights, Mapping) else list(weights)
        if len(factors) != len(roots):
            raise ValueError(f"`weights` should have one factor per loss. (got {len(factors)} for {len(roots)})")
        for number, factor in enumerate(factors):
            loss = roots[number]
            if isinstance(factor, torch.Tensor) and factor.requires_grad:
                roots[number] = loss * factor.to(loss).reshape(loss.shape)
            else:
                seeds[number] = _seed(loss, factor)
    torch.autograd.backward(roots, seeds, retain_graph=retain_graph, create_graph=create_graph, inputs=wanted)


def _seed(loss: torch.Tensor, weight: float | torch.Tensor) -> torch.Tensor:
    if isinstance(weight, torch.Tensor):
        return weight.to(loss).reshape(loss.shape)
    return torch.full_like(loss, weight, requires_grad=False)


@overload
def grads(
    losses: Mapping[Any, Any],
    inputs: Any,
    *,
    budget: Budget = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    stacked: Literal[False] = False,
) -> dict[Any, Any]: ...


@overload
def grads(
    losses: Any,
    inputs: Any,
    *,
    budget: Budget = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    stacked: bool = False,
) -> list[Any]: ...


def grads(
    losses: Any,
    inputs: Any,
    *,
    budget: Budget = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    stacked: bool = False,
) -> Any:
    """Returns one gradient per loss: the rows of the Jacobian, one tuple (a tensor or None per input) for each loss.

    Finds where the graphs of the losses join. What only one loss needs is walked for that loss alone; the shared part
    is walked for several losses at once where that is faster and fits the budget, one by one otherwise. The first calls
    try which way is fastest. Walked at once, results equal those of separate passes up to rounding.

    :param losses: Scalars in anything that can be iterated over, or one tensor each of whose elements is a loss. Of a dict
        the rows are returned in a dict with its keys.
    :param inputs: Tensors (parameters, activations) to differentiate by. Of a dict (`dict(model.named_parameters())`)
        every row is a dict with its keys.
    :param budget: The most bytes that walking at once may take; by default what walking one by one would take.
    :param retain_graph: Keeps the graph for later passes.
    :param create_graph: The gradients have a history themselves. The losses are then walked one by one.
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
        >>> secondpass.grads({"sum": w.sum(), "squares": (w * w).sum()}, {"w": w})["squares"]["w"]
        tensor([2., 4.])
    """
    names = list(losses) if isinstance(losses, Mapping) else None
    if isinstance(losses, torch.Tensor):
        losses = losses.reshape(-1).unbind()
    columns = list(inputs) if isinstance(inputs, Mapping) else None
    roots, wanted = _losses(losses, "grads"), list(_flat(inputs, "input"))
    if not wanted:
        raise ValueError("`grads` should be given at least one loss and one input.")
    if (names is not None and len(names) != len(roots)) or (columns is not None and len(columns) != len(wanted)):
        raise ValueError("a dict of losses or of inputs should have one tensor for each key.")
    for value in wanted:
        if not value.requires_grad:
            raise ValueError(f"each input should require grad. (got one of shape {tuple(value.shape)} that does not)")
    allowed = None if budget is None else parse_budget(budget, wanted[0].device)
    if isinstance(allowed, Share):
        raise ValueError(f"`budget` of `grads` should be bytes, or a share of the free memory. (got {budget!r})")
    joined = join(roots, wanted) if len(roots) > 1 and not create_graph else None
    if joined is not None:
        walks = Jacobian(joined, wanted, allowed, retain_graph)
        if stacked:
            return _named(walks.stacked(), columns)
        rows = walks.rows()
    else:
        rows = _one_by_one(roots, wanted, retain_graph, create_graph)
        if stacked:
            return _named(stack_rows(rows), columns)
    found = [_named(row, columns) for row in rows]
    return found if names is None else dict(zip(names, found, strict=True))


def _one_by_one(roots: list[torch.Tensor], wanted: list[torch.Tensor], retain: bool, create: bool) -> list[Row]:
    last = len(roots) - 1
    return [
        torch.autograd.grad(
            root, wanted, retain_graph=retain or create or number < last, create_graph=create, allow_unused=True
        )
        for number, root in enumerate(roots)
    ]


def _named(row: Sequence[torch.Tensor | None], names: list[Any] | None) -> Any:
    return row if names is None else dict(zip(names, row, strict=True))


def _losses(losses: Any, verb: str) -> list[torch.Tensor]:
    roots = list(_flat(losses, "loss"))
    if not roots:
        raise ValueError(f"`{verb}` should be given at least one loss{' and one input' if verb == 'grads' else ''}.")
    for root in roots:
        if root.numel() != 1:
            raise ValueError(f"each loss should be a scalar. (got one of shape {tuple(root.shape)})")
        if not root.requires_grad:
            raise ValueError("each loss should have a history: one of them does not require grad.")
    return roots


def _flat(value: Any, what: str) -> Iterator[torch.Tensor]:
    """The tensors in anything that can be iterated over."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _flat(item, what)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _flat(getattr(value, field.name), what)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for item in value:
            yield from _flat(item, what)
    else:
        raise TypeError(f"each {what} should be a tensor. (got {value!r})")
