# SPDX-License-Identifier: BSD-3-Clause
"""The buffers that one forward of a unit saved: taking them down, and which of them need not be held.

NOTE [ Buffers of a unit ]
1. While the unit runs, every buffer is packed into a token that names the run and a number. The node holds the token,
   the token the run, the run the buffer (detached). Nothing points back: when the nodes die, all of it dies.
2. A buffer that aliases a parameter, a module buffer or an argument is never let go and counts nothing.
3. Any other buffer is a cache entry: it may be held, moved to the host, or dropped, and can always be made again by
   running the unit's forward. So the rules for letting go need to be good, not right.
4. What is held is checked against its version when it is read. Before a forward is run again, the versions of the
   parameters and arguments are checked. Either raises PyTorch's error, never a wrong gradient.
5. A forward is run again only up to its last buffer that is missing.
6. A slim run does not hold buffers that one cheap operation makes from others (see NOTE [ Derived buffers ]), and
   holds noise as bits (see `_noise`). Nor does it hold the results of those linear layers that its plan leaves out.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable
from typing import Any

import torch

from ._derived import Product, Recipe, recipe
from ._graph import elsewhere, same_bits, storage_of
from ._making import Making
from ._noise import Mask, Noise, noise
from ._replay import Entry
from ._unit import Unit

__all__ = ["Buffers", "unpack"]

_ALIKE = 1.02  # sizes that differ by a row's statistics
_NONE, _NOISE, _PRODUCT, _ANY = (frozenset([kind]) for kind in (type(None), Noise, Product, Any))


class _Token:
    __slots__ = ("number", "run")

    def __init__(self, run: Buffers, number: int) -> None:
        self.run, self.number = run, number


class Buffers(Making):
    """See NOTE [ Buffers of a unit ]."""

    mode: str

    def __init__(self, frame: Any, unit: Unit, fixed: set[int], slims: bool, left_out: frozenset[int]) -> None:
        super().__init__(left_out)
        # The unit is looked up in the keeper: see NOTE [ The life of a frame ] 3.
        self.frame, self._key = frame, unit.key
        self.entries: list[Entry] = []
        self.bytes = self.held = 0
        self.slim = False
        """Derived buffers are made when they are read, and not held."""
        self.fresh = False
        """The data now present came from a recompute, and goes as it is read."""
        self.made = range(0)
        """Which buffers that recompute was to make."""
        self._fixed = fixed
        self._norms, self._solid, self._forms = unit.norms if slims else None, unit.solid, unit.forms
        self._masks = frame.keeper.policy == "offload"
        self._recipes: dict[int, Recipe | Noise | None] = {}
        self._seen: dict[int, torch.Tensor] = {}
        self._lock = threading.RLock()

    @property
    def unit(self) -> Unit:
        return self.frame.keeper.unit(self._key)

    def read(self, number: int) -> torch.Tensor:
        raise NotImplementedError

    def pack(self, tensor: torch.Tensor) -> _Token:
        key, size = storage_of(tensor)
        alias = key == 0 or key in self._fixed
        first = not alias and key not in self._seen
        entry = Entry(tensor, alias, size if first else 0)
        if first:
            self._seen[key] = entry.data  # holds the memory, so that its address means one buffer while we compare
            self.bytes += size
            if self._norms is not None:
                found = self._recipe(tensor, size)
                if isinstance(found, Product):
                    found.ready = len(self.entries) in self.left_out
                elif found is not None and size > self.frame.derived:
                    self.frame.derived = size
                self._recipes[key] = found
        if not alias and self._recipes:
            self._derive(entry, self._recipes.get(key), tensor)
        self.entries.append(entry)
        if first:
            self.held += size
            self.frame.grew(self, size)
        return _Token(self, len(self.entries) - 1)

    def number(self, handle: Any) -> int | None:
        """Which buffer of this run a node's slot holds."""
        token = getattr(handle, "data", None)
        return token.number if isinstance(token, _Token) and token.run is self else None

    def _recipe(self, tensor: torch.Tensor, size: int) -> Recipe | Noise | None:
        number = len(self.entries)
        if number in self._solid:
            return None
        # To look at a node takes time. Where a plan is followed, only those are looked at that it makes use of.
        forms = self._forms.get(number, _ANY) if self.frame.follows else _ANY
        if forms == _NONE or (forms == _PRODUCT and number not in self.left_out):
            return None
        found = recipe(tensor, size, self.number, self._norms) if forms != _NOISE else None
        return found or noise(tensor, size, self._masks)

    @staticmethod
    def _derive(entry: Entry, found: Recipe | Noise | None, tensor: torch.Tensor) -> None:
        if found is not None:
            found.spoiled |= tensor._version != 0 and isinstance(found, Recipe)  # noise is made by writing
            entry.recipe, entry.place = found, (tensor.stride(), tensor.storage_offset())

    def closed(self) -> None:
        """The forward is over. What it has written to since makes nothing any more, and is made by nothing."""
        self.frame.count += len(self.entries)
        if self._norms is not None and not self.frame.follows:
            for number, entry in enumerate(self.entries):
                self._forms[number] = self._forms.get(number, frozenset()) | {type(entry.recipe)}
        self._seen.clear()
        self._fixed.clear()
        self._recipes.clear()
        for entry in self.entries:
            if entry.recipe is not None:
                involved = [entry, *(self.entries[number] for number in entry.recipe.sources)]
                entry.recipe.spoiled |= any(e.data is None or e.data._version != e.version for e in involved)
                entry.recipe.spoiled |= any(elsewhere(e.data) for e in involved if e.alias)

    def derived(self, entry: Entry) -> bool:
        """Need this one not be held?"""
        return self.slim and entry.recipe is not None and not entry.recipe.spoiled and entry.recipe.ready

    def weigh(self, numbers: range) -> int:
        """The bytes of some buffers without the derived ones, if they are made by a recompute: noise is in full then."""
        return sum(map(self._weight, self.entries[numbers.start : numbers.stop]))

    def _weight(self, entry: Entry) -> int:
        recipe = entry.recipe
        solid = recipe is None or recipe.spoiled or isinstance(recipe, (Noise, Product)) or self.unit.thick
        return entry.nbytes if solid else 0

    def _slim_weight(self, entry: Entry) -> int:
        weight = self._weight(entry)
        if not weight or entry.recipe is None or entry.recipe.spoiled or self.unit.thick:
            return weight
        if isinstance(entry.recipe, Noise):
            return weight // (8 * entry.dtype.itemsize)
        return 0 if entry.recipe.ready else weight

    def middle(self) -> int:
        """The number that parts the buffers into two equal halves, as nearly as may be.

        Of equals the last one: the later half has the gradient of the unit's result for company, and should be small.
        """
        whole = self.weigh(range(len(self.entries)))
        before = list(itertools.accumulate(map(self._weight, self.entries), initial=0))
        larger = [max(part, whole - part) for part in before]
        return max(number for number, size in enumerate(larger) if size <= _ALIKE * min(larger))

    @property
    def slim_bytes(self) -> int:
        """What a run takes that is held slim, as far as it is decided what is left out."""
        return sum(map(self._slim_weight, self.entries))

    def bytes_without(self, left_out: frozenset[int]) -> int:
        """The same if these results were left out, and no others."""
        products = self.products()
        chosen = sum(recipe.nbytes for number, recipe in products.items() if number in left_out)
        return self.slim_bytes + sum(recipe.nbytes for recipe in products.values() if recipe.ready) - chosen

    def slim_down(self) -> None:
        """Drops what one cheap operation makes again. The first time, only after it has done so."""
        with self._lock:
            if self.unit.thick or any(e.data is None and not e.alias for e in self.entries):
                self.slim = self.slim and not self.unit.thick
                if not self.slim:
                    self.left_out = frozenset()
                return
            self.slim = True
            self._take_noise()
            self.choose_products(self.left_out)
            mine = [entry for entry in self.entries if self.derived(entry)]
            if not self.unit.slimmed and not all(same_bits(self.make(entry), entry.data) for entry in mine):
                self.unit.thick, self.slim, self.left_out = True, False, frozenset()
                return
            self.unit.slimmed = True
            self.let_go(mine)
            bits = sum(entry.recipe.rest for entry in mine if entry.nbytes)
            self.held += bits
            self.frame.grew(self, bits)

    def leave_out(self, numbers: frozenset[int]) -> None:
        """Drops the results of some linear layers."""
        with self._lock:
            self.choose_products(numbers)
            self.let_go(e for e in self.entries if isinstance(e.recipe, Product) and self.derived(e))

    def _take_noise(self) -> None:
        for number, entry in enumerate(self.entries):
            found = entry.recipe
            if not isinstance(found, Noise) or found.spoiled or found.ready:
                continue
            if (self.mode == "retain" or isinstance(found, Mask)) and not found.take(entry.data):
                found.spoiled = True
                self.unit.solid.add(number)

    def let_go(self, entries: Iterable[Entry]) -> None:
        """Drops some buffers."""
        for entry in entries:
            if not entry.alias and entry.data is not None:
                entry.data = None
                self.held -= entry.nbytes
                self.frame.shrank(entry.nbytes)

    def drop(self) -> None:
        self._waiting.clear()
        self.left_out = frozenset()
        for entry in self.entries:
            if not entry.alias:
                entry.data = None
            if entry.recipe is not None:
                entry.recipe.clear()
        self.frame.shrank(self.held)
        self.held = 0
        self.fresh, self.made = False, range(0)


def unpack(token: _Token) -> torch.Tensor:
    return token.run.read(token.number)
