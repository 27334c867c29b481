# SPDX-License-Identifier: BSD-3-Clause
"""One gradient per loss: walked one by one, or the losses' own parts one by one and the shared part at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import torch
from torch.autograd.graph import GradientEdge

from ..saved.graph import free, walk
from . import products
from .chunks import Chunks, Way
from .clock import moment
from .heads import Found, Head, walk_heads
from .join import Join
from .layers import Survey, survey

__all__ = ["Jacobian", "Row", "stack_rows"]

Row = tuple[torch.Tensor | None, ...]

_WAY = 16  # gradients of a transformer's block take about eleven times those of its result


class Jacobian:
    """The walks of one call."""

    def __init__(self, joined: Join, wanted: list[torch.Tensor], budget: int | None, retain: bool) -> None:
        self.joined, self.wanted, self.budget, self.retain = joined, wanted, budget, retain
        self.device = wanted[0].device
        self.edges = [GradientEdge(node, number) for node, number in joined.edges]
        self._everything = range(len(wanted))
        self._survey: Survey | None = None

    def rows(self) -> list[Row]:
        """For each loss its gradient in each input."""
        return [row for rows in self._walks(lambda found: found.rows()) for row in rows]

    def stacked(self) -> list[torch.Tensor | None]:
        """For each input the gradients of all losses."""
        return _joined(self._walks(lambda found: (len(found.losses), found.columns())))

    def _walks(self, take: Callable[[_One | _Several], Any]) -> list[Any]:
        """What is taken from each walk."""
        count, done = len(self.joined.roots), 0
        result: list[Any] = []
        chunks = self._chunks(count)
        for how, size in chunks:
            losses = range(done, done + size)
            done += size
            start = moment(self.device) if chunks.trying else 0.0
            result += map(take, self._walk(losses, done == count and not self.retain, how, chunks.kind.works))
            if chunks.trying:
                chunks.took((moment(self.device) - start) / size)
        return result

    def _chunks(self, count: int) -> Chunks:
        border = [node._input_metadata[place] for node, place in self.joined.edges]
        shapes = tuple((tuple(edge.shape), edge.dtype) for edge in border)
        row = sum(value.numel() * value.element_size() for value in self.wanted)
        fitting = min(count, self._fitting(count, row, sum(math.prod(s) * d.itemsize for s, d in shapes)))
        ways = [Way("together", fitting), Way("apart", fitting)] if fitting > 1 else []
        if self.device.type == "cuda":
            ways.append(Way("aside", 1))
        return Chunks((shapes, self.joined.likeness, len(self.wanted), row, self.device), count, ways)

    def _fitting(self, count: int, row: int, seeds: int) -> int:
        """How many losses may be walked at once: each takes its row, and on the way gradients of many times its seeds.

        Without a budget, as many as need no more than walking one by one. Then all rows but one are there when the last
        walk begins. Walked at once they come to be while the buffers go, so that gradients may take a row's place.
        """
        way = max(1, _WAY * seeds)
        if self.budget is not None:
            return max(1, self.budget // (2 * row + way))
        if self.retain:
            return max(1, count * row // 4 // way)
        return count if way <= row else 1

    def _walk(self, losses: range, final: bool, how: str, works: dict[str, Hashable]) -> list[_One | _Several]:
        if how != "alone":
            # Not enough memory, or an operation without a rule for it: one by one will do. Unless a graph of the same
            # nodes went well, this one is let go of only afterwards: a walk that fails half-way must not spend it.
            nodes = self._nodes(how) if final else None
            known = final and works.get(how) == nodes
            try:
                found = self._aside(losses, known) if how == "aside" else self._at_once(losses, known, how)
            except (RuntimeError, NotImplementedError):
                works[how] = False
            else:
                if final and not known:
                    free(walk([root.grad_fn for root in self.joined.roots]))
                    works[how] = nodes
                return [found]
        return [self._alone(losses[at : at + 1], final and at == len(losses) - 1) for at in range(len(losses))]

    def _nodes(self, how: str) -> Hashable:
        """What the shared part is made of."""
        if how != "together":
            return self._apart()[0].nodes
        nodes = walk([node for node, _ in self.joined.edges])
        return len(nodes), frozenset(type(node).__name__ for node in nodes)

    def _alone(self, losses: range, final: bool) -> _One:
        return _One(losses, self._row(self._gradients([self.joined.roots[losses[0]]], None, self._everything, final)))

    def _aside(self, losses: range, final: bool) -> _One:
        apart, places = self._apart()
        with products.aside(apart, self.device) as made:
            found = self._gradients([self.joined.roots[losses[0]]], None, places, final)
        return _One(losses, self._row({**made, **found}))

    def _at_once(self, losses: range, final: bool, how: str) -> _Several:
        heads = walk_heads(self.joined, losses, self.wanted)
        columns = [_stack(column) for column in zip(*(head.seeds for head in heads), strict=True)]
        edges = [edge for edge, column in zip(self.edges, columns, strict=True) if column is not None]
        seeds = [column for column in columns if column is not None]
        apart, places = self._apart() if how == "apart" else (Survey(), list(self._everything))
        places = [place for place in places if self.joined.trunk[place]]
        with products.together(apart, len(losses)) as made:
            found = self._gradients(edges, seeds, places, final, is_grads_batched=True)
        stacked = {place: value for place, value in {**made, **found}.items() if value is not None}
        return _Several(losses, stacked, heads, self.joined.reached, self.wanted)

    def _apart(self) -> tuple[Survey, list[int]]:
        """What is made apart from the walk, and the inputs that are left to it."""
        if self._survey is None:
            self._survey = survey([node for node, _ in self.joined.edges], self.wanted)
        made = {place for layer in self._survey.layers for place in (layer.weight, layer.bias)}
        return self._survey, [place for place in self._everything if place not in made]

    def _gradients(self, roots: Any, seeds: Any, places: Sequence[int], final: bool, **options: bool) -> Found:
        if not roots or not places:
            return {}
        inputs = [self.wanted[place] for place in places]
        found = torch.autograd.grad(roots, inputs, seeds, retain_graph=not final, allow_unused=True, **options)
        return dict(zip(places, found, strict=True))

    def _row(self, found: Found) -> Row:
        return tuple(found.get(place) for place in self._everything)


class _One(NamedTuple):
    """What a walk for one loss has brought."""

    losses: range
    row: Row

    def rows(self) -> list[Row]:
        return [self.row]

    def columns(self) -> list[torch.Tensor | None]:
        return [None if value is None else value.unsqueeze(0) for value in self.row]


class _Several(NamedTuple):
    """What a walk for several losses has brought.

    Walked together with others, a loss that does not depend on an input gives zeros; alone it gives nothing.
    """

    losses: range
    shared: dict[int, torch.Tensor]
    """Gradients in the shared part, stacked, by the place of their input."""
    heads: list[Head]
    reached: list[list[bool]]
    wanted: list[torch.Tensor]

    def rows(self) -> list[Row]:
        split = {place: value.unbind() for place, value in self.shared.items()}
        everything = range(len(self.wanted))
        if len(split) == len(self.wanted) and all(all(self.reached[number]) for number in self.losses):
            return list(zip(*(split[place] for place in everything), strict=True))
        rows = []
        for at, (number, head) in enumerate(zip(self.losses, self.heads, strict=True)):
            found = {place: parts[at] for place, parts in split.items() if self.reached[number][place]} | head.own
            rows.append(tuple(found.get(place) for place in everything))
        return rows

    def columns(self) -> list[torch.Tensor | None]:
        found: list[torch.Tensor | None] = [self.shared.get(place) for place in range(len(self.wanted))]
        for at, head in enumerate(self.heads):
            for place, value in head.own.items():
                if value is not None:
                    column = found[place] = value.new_zeros((len(self.losses), *value.shape))
                    column[at] = value
        return found


def stack_rows(rows: list[Row]) -> list[torch.Tensor | None]:
    """The same for separate passes."""
    return _joined([(1, _One(range(1), row).columns()) for row in rows])


def _joined(parts: list[tuple[int, list[torch.Tensor | None]]]) -> list[torch.Tensor | None]:
    """The columns of some losses under those of others."""
    if len(parts) == 1:
        return parts[0][1]
    sizes = [size for size, _ in parts]
    return [_cat(sizes, [_take(columns, place) for _, columns in parts]) for place in range(len(parts[0][1]))]


def _take(columns: list[torch.Tensor | None], place: int) -> torch.Tensor | None:
    """Takes one out, so that there are never two of all."""
    value, columns[place] = columns[place], None
    return value


def _cat(sizes: list[int], parts: list[torch.Tensor | None]) -> torch.Tensor | None:
    like = next((part for part in parts if part is not None), None)
    if like is None:
        return None
    full = [like.new_zeros((n, *like.shape[1:])) if p is None else p for n, p in zip(sizes, parts, strict=True)]
    return torch.cat(full)


def _stack(column: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    like = next((value for value in column if value is not None), None)
    return None if like is None else torch.stack([torch.zeros_like(like) if v is None else v for v in column])
