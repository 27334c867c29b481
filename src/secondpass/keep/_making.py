# SPDX-License-Identifier: BSD-3-Clause
"""Making buffers of a run from its other buffers, when a pass asks for them.

NOTE [ What waits ]
What a derived buffer is made of may be derived itself: the result of an activation is made from that of a layer, and
that one from a norm's. Each has readers of its own, which come later in a pass, so it waits for them. So does the
result of a layer of which several nodes read a part. Where nothing but cheap operations is left out, nothing waits:
to make it again takes less than its room is worth.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import torch

from ._clock import moment
from ._derived import Product, Recipe
from ._graph import same_bits
from ._noise import Noise
from ._replay import Entry
from ._unit import Unit

__all__ = ["Making"]


class _Made(NamedTuple):
    """A derived buffer that waits for its readers."""

    whole: torch.Tensor
    unread: set[int]


class Making:
    """The part of a run that makes derived buffers: see NOTE [ Derived buffers ] and NOTE [ What waits ]."""

    frame: Any
    unit: Unit
    entries: list[Entry]
    held: int

    def __init__(self, left_out: frozenset[int]) -> None:
        self.left_out = left_out
        """Results of linear layers that are not held, by number."""
        self._waiting: dict[Recipe | Noise, _Made] = {}

    def derived(self, entry: Entry) -> bool:
        raise NotImplementedError

    def value(self, number: int, keep: bool) -> torch.Tensor:
        raise NotImplementedError

    # One buffer ------------------------------------------------------------------------------------------------------

    def make(self, entry: Entry) -> torch.Tensor:
        return _part(entry, self._whole(entry.recipe))

    def _whole(self, recipe: Recipe | Noise) -> torch.Tensor:
        known = self._waiting.get(recipe)
        return recipe.make([self._source(number) for number in recipe.sources]) if known is None else known.whole

    def _source(self, number: int) -> torch.Tensor:
        entry = self.entries[number]
        if entry.data is not None or not self.derived(entry):
            return self.value(number, keep=True)
        return _part(entry, self._let_wait(entry.recipe)) if self.left_out else self.make(entry)

    def _let_wait(self, recipe: Recipe | Noise) -> torch.Tensor:
        known = self._waiting.get(recipe)
        if known is None:
            unread = {number for number, entry in enumerate(self.entries) if entry.recipe is recipe}
            known = self._waiting[recipe] = _Made(self._whole(recipe), unread)
            self.held += recipe.nbytes
            self.frame.grew(self, recipe.nbytes, again=True)
        return known.whole

    def read_derived(self, number: int) -> torch.Tensor:
        """For the node that saved it."""
        entry = self.entries[number]
        if isinstance(entry.recipe, Product):
            self._let_wait(entry.recipe)
        found = self.make(entry)
        known = self._waiting.get(entry.recipe)
        if known is not None:
            known.unread.discard(number)
            if not known.unread:
                self._forget(entry.recipe)
        return found

    def _forget(self, recipe: Recipe | Noise) -> None:
        del self._waiting[recipe]
        self.held -= recipe.nbytes
        self.frame.shrank(recipe.nbytes)

    def forget_waiting(self) -> None:
        """The pass is over."""
        for recipe in list(self._waiting):
            self._forget(recipe)

    # Results of linear layers ----------------------------------------------------------------------------------------

    def products(self) -> dict[int, Product]:
        """Those that might be left out, by number."""
        found = {n: e.recipe for n, e in enumerate(self.entries) if e.nbytes and isinstance(e.recipe, Product)}
        return {} if self.unit.thick else {number: recipe for number, recipe in found.items() if not recipe.spoiled}

    def choose_products(self, numbers: Iterable[int]) -> None:
        """Leaves these out and no others, as far as they come out the same. What is gone already stays away."""
        found = self.products()
        gone = {number for number, recipe in found.items() if recipe.ready and self.entries[number].data is None}
        numbers = gone.union(numbers)
        self.prove(found.keys() & numbers)
        self.left_out = frozenset(n for n, recipe in found.items() if n in numbers and not recipe.spoiled)
        for number, recipe in found.items():
            recipe.ready = number in self.left_out

    def prove(self, numbers: Iterable[int]) -> None:
        """Makes them once, while they are still here, and takes the time. See NOTE [ Derived buffers ] 4."""
        for number in sorted(set(numbers) - self.unit.rates.keys()):
            recipe = self.entries[number].recipe
            mine = [entry for entry in self.entries if entry.recipe is recipe]
            if any(entry.data is None for entry in mine):
                continue
            seconds = self._try(recipe, mine)
            if seconds is not None:
                self.unit.rates[number] = seconds / recipe.nbytes
            else:
                recipe.spoiled = True
                self.unit.solid.add(number)
        self.forget_waiting()

    def _try(self, recipe: Product, entries: list[Entry]) -> float | None:
        """How long it takes, or None where it fails or comes out differently."""
        times = []
        try:
            for _ in range(2):  # the first one may be slow for other reasons
                start = moment(entries[0].data.device)
                made = self._whole(recipe)
                times.append(moment(made.device) - start)
        except RuntimeError:
            return None
        return min(times) if all(same_bits(_part(entry, made), entry.data) for entry in entries) else None

    def waiting(self, left_out: frozenset[int]) -> int:
        """The most bytes that wait for their readers at a time, if these are left out."""
        recipes = [entry.recipe for entry in self.entries]
        dropped = {recipes[number] for number in left_out}
        last = {recipe: number for number, recipe in reversed([*enumerate(recipes)])}  # read from the last to the first
        here: set[Any] = set()
        most = 0
        for number, recipe in reversed([*enumerate(recipes)]):
            if recipe in dropped:
                here.add(recipe)
            todo = [] if recipe is None or (isinstance(recipe, Product) and recipe not in dropped) else [recipe]
            while todo:
                for source in todo.pop().sources:
                    behind = recipes[source]
                    solid = behind is None or (isinstance(behind, Product) and behind not in dropped)
                    if not solid and behind not in here:
                        here.add(behind)
                        todo.append(behind)
            most = max(most, sum(found.nbytes for found in here))
            if last[recipe] == number:
                here.discard(recipe)
        return most


def _part(entry: Entry, whole: torch.Tensor) -> torch.Tensor:
    stride, offset = entry.place
    return whole.as_strided(entry.shape, stride, offset)
