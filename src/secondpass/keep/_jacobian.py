# SPDX-License-Identifier: BSD-3-Clause
"""One gradient per loss: walked one by one, or the losses' own parts one by one and the shared part at once."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from . import _apart
from ._chunks import Chunks, Way
from ._clock import moment
from ._graph import walk
from ._heads import Found, walk_heads
from ._join import Join
from ._late import release_spent
from ._survey import Survey, survey

__all__ = ["Jacobian", "Row"]

Row = tuple[torch.Tensor | None, ...]

_WAY = 16  # gradients of a transformer's block take about eleven times those of its result


class Jacobian:
    """The walks of one call."""

    def __init__(self, joined: Join, wanted: list[torch.Tensor], budget: int | None, retain: bool) -> None:
        self.joined, self.wanted, self.budget, self.retain = joined, wanted, budget, retain
        self.device = wanted[0].device
        self.edges = [GradientEdge(node, number) for node, number in joined.edges]
        self._survey: Survey | None = None

    def rows(self) -> list[Row]:
        count, result = len(self.joined.roots), []
        chunks = self._chunks(count)
        for how, size in chunks:
            losses = range(len(result), len(result) + size)
            start = moment(self.device) if chunks.trying else 0.0
            result += self._walk(losses, losses.stop == count and not self.retain, how, chunks.kind.works)
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

    def _walk(self, losses: range, final: bool, how: str, works: dict[str, Hashable]) -> list[Row]:
        if how != "alone":
            # Not enough memory, or an operation without a rule for it: one by one will do. Unless a graph of the same
            # nodes went well, this one is let go of only afterwards: a walk that fails half-way must not spend it.
            nodes = self._nodes(how) if final else None
            known = final and works.get(how) == nodes
            try:
                rows = self._aside(losses, known) if how == "aside" else self._at_once(losses, known, how)
            except (RuntimeError, NotImplementedError):
                works[how] = False
            else:
                if final and not known:
                    release_spent(walk([root.grad_fn for root in self.joined.roots]))
                    works[how] = nodes
                return rows
        return [self._alone(number, final and number == losses[-1]) for number in losses]

    def _nodes(self, how: str) -> Hashable:
        """What the shared part is made of."""
        if how != "together":
            return self._apart()[0].nodes
        nodes = walk([node for node, _ in self.joined.edges])
        return len(nodes), frozenset(type(node).__name__ for node in nodes)

    def _alone(self, number: int, final: bool) -> Row:
        return self._row(self._gradients([self.joined.roots[number]], None, range(len(self.wanted)), final))

    def _aside(self, losses: range, final: bool) -> list[Row]:
        (number,) = losses
        apart, places = self._apart()
        with _apart.aside(apart, self.device) as made:
            found = self._gradients([self.joined.roots[number]], None, places, final)
        return [self._row({**made, **found})]

    def _at_once(self, losses: range, final: bool, how: str) -> list[Row]:
        heads = walk_heads(self.joined, losses, self.wanted)
        columns = [_stack(column) for column in zip(*(head.seeds for head in heads), strict=True)]
        edges = [edge for edge, column in zip(self.edges, columns, strict=True) if column is not None]
        seeds = [column for column in columns if column is not None]
        apart, places = self._apart() if how == "apart" else (Survey(), list(range(len(self.wanted))))
        places = [place for place in places if self.joined.trunk[place]]
        with _apart.together(apart, len(losses)) as made:
            found = self._gradients(edges, seeds, places, final, is_grads_batched=True)
        split = {place: value.unbind() for place, value in {**made, **found}.items() if value is not None}
        if len(split) == len(self.wanted) and all(all(self.joined.reached[number]) for number in losses):
            return list(zip(*(split[place] for place in range(len(self.wanted))), strict=True))
        rows = []
        for at, (number, head) in enumerate(zip(losses, heads, strict=True)):
            # Walked together with others, a loss that does not depend on an input gives zeros; alone it gives nothing.
            reached = self.joined.reached[number]
            rows.append(self._row({place: parts[at] for place, parts in split.items() if reached[place]} | head.own))
        return rows

    def _apart(self) -> tuple[Survey, list[int]]:
        """What is made apart from the walk, and the inputs that are left to it."""
        if self._survey is None:
            self._survey = survey([node for node, _ in self.joined.edges], self.wanted)
        made = {place for layer in self._survey.layers for place in (layer.weight, layer.bias)}
        return self._survey, [place for place in range(len(self.wanted)) if place not in made]

    def _gradients(self, roots: Any, seeds: Any, places: Sequence[int], final: bool, **options: bool) -> Found:
        if not roots or not places:
            return {}
        inputs = [self.wanted[place] for place in places]
        found = torch.autograd.grad(roots, inputs, seeds, retain_graph=not final, allow_unused=True, **options)
        return dict(zip(places, found, strict=True))

    def _row(self, found: Found) -> Row:
        return tuple(found.get(place) for place in range(len(self.wanted)))


def _stack(column: Sequence[torch.Tensor | None]) -> torch.Tensor | None:
    like = next((value for value in column if value is not None), None)
    return None if like is None else torch.stack([torch.zeros_like(like) if v is None else v for v in column])
