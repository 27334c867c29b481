# SPDX-License-Identifier: BSD-3-Clause
"""One forward of one unit: its buffers, and where they are.

NOTE [ Buffers of a unit ]
1. While the unit runs, every buffer is packed into a token that names the run and a number. The node holds the token,
   the token the run, the run the buffer (detached). Nothing points back: when the nodes die, all of it dies.
2. A buffer that aliases a parameter, a module buffer or an argument is never let go and counts nothing.
3. Any other buffer is a cache entry: it may be held, moved to the host, or dropped, and can always be made again by
   running the unit's forward. So the rules for letting go need to be good, not right.
4. What is held is checked against its version when it is read. Before a forward is run again, the versions of the
   parameters and arguments are checked. Either raises PyTorch's error, never a wrong gradient.
5. A forward is run again only up to its last buffer that is missing.
6. A slim run does not hold buffers that one cheap operation makes from others: see NOTE [ Derived buffers ].
"""

from __future__ import annotations

import threading
import time
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks

from . import _remake
from ._derived import Recipe, recipe
from ._errors import KeepError, changed
from ._graph import elsewhere, same_bits, storage_of
from ._offload import Host
from ._replay import Entry, describe
from ._state import Surroundings, severed
from ._tree import tensors
from ._unit import Unit

__all__ = ["Run"]


class _Token:
    __slots__ = ("number", "run")

    def __init__(self, run: Run, number: int) -> None:
        self.run, self.number = run, number


class Run:
    """See NOTE [ Buffers of a unit ]."""

    def __init__(
        self, frame: Any, unit: Unit, args: tuple[Any, ...], kwargs: dict[str, Any], mode: str, slim: bool = False
    ) -> None:
        # The unit is looked up in the keeper: see NOTE [ The life of a frame ] 4.
        self.frame, self._key, self.mode = frame, unit.key, mode
        self.args, self.kwargs = severed(args), severed(kwargs)
        self.reason = "within the budget" if mode == "retain" else f"policy {mode}"
        inputs = list(tensors((args, kwargs)))
        self.boundary = {key: size for key, size in map(storage_of, inputs) if key}
        parameters = list(unit.habits.parameters())
        own = {storage_of(value)[0] for value in parameters}
        own.update(storage_of(value)[0] for _, _, value in unit.habits.all_buffers())
        self._fixed = own | set(self.boundary)
        weights = (value.numel() * value.element_size() for value in parameters if value.requires_grad)
        frame.weight = max(frame.weight, *weights, 0)
        self.versions = [(value, value._version) for value in parameters]
        self.versions += [(value, value._version) for value in tensors((self.args, self.kwargs))]
        devices = tuple({value.device: None for value in (*parameters, *inputs)})
        self.surroundings = Surroundings(unit.habits, devices)
        self.entries: list[Entry] = []
        self.bytes = 0
        self.held = 0
        self.seconds = 0.0
        self.recomputes = 0
        self._settled = False
        self.fetched = 0
        """The last pass for which the host copies were called back."""
        self.fresh = False
        """The data now present came from a recompute, and goes as it is read."""
        self.parted = 0
        self.slim = slim
        """Derived buffers are made when they are read, and not held."""
        self._recipes: dict[int, Recipe | None] = {}
        self._seen: dict[int, torch.Tensor] = {}
        self._lock = threading.RLock()
        self._host = Host() if mode == "offload" else None

    @property
    def unit(self) -> Unit:
        return self.frame.keeper.unit(self._key)

    # The forward ---------------------------------------------------------------------------------------------------

    def forward(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        start = time.perf_counter()
        with saved_tensors_hooks(self._pack, _unpack):
            result = call(*args, **kwargs)
        self.seconds = time.perf_counter() - start
        self._settle()
        return result

    def _pack(self, tensor: torch.Tensor) -> _Token:
        key, size = storage_of(tensor)
        alias = key == 0 or key in self._fixed
        first = not alias and key not in self._seen
        entry = Entry(tensor, alias, size if first else 0)
        if first:
            self._seen[key] = entry.data  # holds the memory, so that its address means one buffer while we compare
            self.bytes += size
            found = self._recipes[key] = recipe(tensor, size, self.number, self.unit.habits.modules)
            self.frame.derived = max(self.frame.derived, found.nbytes if found is not None else 0)
        if not alias:
            self._derive(entry, self._recipes[key], tensor)
        self.entries.append(entry)
        if first:
            self.held += size
            self.frame.grew(self, size)
        return _Token(self, len(self.entries) - 1)

    def number(self, handle: Any) -> int | None:
        """Which buffer of this run a node's slot holds."""
        token = getattr(handle, "data", None)
        return token.number if isinstance(token, _Token) and token.run is self else None

    @staticmethod
    def _derive(entry: Entry, found: Recipe | None, tensor: torch.Tensor) -> None:
        if found is not None:
            found.spoiled |= tensor._version != 0
            entry.recipe, entry.place = found, (tensor.stride(), tensor.storage_offset())

    def _settle(self) -> None:
        """The forward is over: may these buffers be dropped?"""
        unit = self.unit
        self._seen.clear()
        self._fixed.clear()
        self._recipes.clear()
        for entry in self.entries:
            if entry.recipe is not None:
                sources = [self.entries[number] for number in entry.recipe.sources]
                entry.recipe.spoiled |= any(s.data is None or s.data._version != s.version for s in sources)
        if not self.surroundings.settle(unit.habits):
            unit.verified = False
            self._pin_once("its forward changed state it had not changed before")
        for value, version in self.versions:
            if value._version != version:
                unit.pinned = "its forward writes to its parameters or arguments"
                self._pin_once(unit.pinned)
                break
        for entry in self.entries:
            if not entry.alias and elsewhere(entry.data):
                entry.alias = True
                self.held -= entry.nbytes
                self.frame.shrank(entry.nbytes)
                self.bytes -= entry.nbytes
        if self.slim or self.mode != "retain":
            self.slim_down()
        if self._host is not None:
            self._send_away()
        elif self.mode == "recompute" and unit.verified:
            self.fresh = True  # goes as it is read, or when the next unit needs the room: see `make_way`
        elif self.mode == "recompute":
            self.evict(self.reason)

    def make_way(self) -> None:
        """The next unit begins. The last unit's buffers stay: the first pass begins with them, in room it needs."""
        if self.mode == "recompute" and self.fresh:
            self.evict(self.reason)

    def _pin_once(self, why: str) -> None:
        if self.mode == "recompute":
            self.mode = "retain"
        self.reason = why

    def _send_away(self) -> None:
        for entry in self.entries:
            if not entry.alias and entry.data is not None:
                entry.host = self._host.put(entry.data)
        self._host.depart()
        self.drop()
        self.reason = "on the host"

    @property
    def on_host(self) -> int:
        return self._host.on_host if self._host is not None else 0

    # Letting go ----------------------------------------------------------------------------------------------------

    def derived(self, entry: Entry) -> bool:
        """Need this one not be held?"""
        return self.slim and entry.recipe is not None and not entry.recipe.spoiled

    @property
    def slim_bytes(self) -> int:
        """What is left of all bytes without the derived ones."""
        if self.unit.thick:
            return self.bytes
        found = {id(e.recipe): e.recipe.nbytes for e in self.entries if e.recipe is not None and not e.recipe.spoiled}
        return self.bytes - sum(found.values())

    def slim_down(self) -> None:
        """Drops what one cheap operation makes again. The first time, only after it has done so."""
        with self._lock:
            if self.unit.thick or any(e.data is None and not e.alias for e in self.entries):
                self.slim = self.slim and not self.unit.thick
                return
            self.slim = True
            mine = [entry for entry in self.entries if self.derived(entry)]
            if not self.unit.slimmed and not all(same_bits(self._make(entry), entry.data) for entry in mine):
                self.unit.thick, self.slim = True, False
                return
            self.unit.slimmed = self.unit.slimmed or bool(mine)
            for entry in mine:
                entry.data = None
                self.held -= entry.nbytes
                self.frame.shrank(entry.nbytes)

    def evictable(self) -> bool:
        return self.held > 0 and self.unit.pinned is None and self._host is None

    def evict(self, why: str) -> bool:
        """Drops what is held. The first time, only after a second forward has given the same buffers."""
        with self._lock:
            if self.unit.pinned is None and (self.unit.verified or _remake.verify(self)):
                self.drop()
                self.mode, self.reason = "recompute", why
                return True
            self.mode, self.fresh = "retain", False
            return False

    def forget(self, why: str, for_good: bool) -> None:
        """Drops everything, host copies too: nobody is expected to ask again, or nobody can (`for_good`)."""
        with self._lock:
            if not for_good and self._host is not None and not self.unit.verified:
                return  # nothing on the device, and no proof that it could be made again
            if for_good:
                self.drop()
            elif self.held and not self.evict(why):
                return
            if self._host is not None:
                self._host.clear()
                for entry in self.entries:
                    entry.host = None
            self.reason = why

    def drop(self) -> None:
        for entry in self.entries:
            if not entry.alias:
                entry.data = None
        self.frame.shrank(self.held)
        self.held = 0
        self.fresh = False

    # Reading -------------------------------------------------------------------------------------------------------

    def read(self, number: int) -> torch.Tensor:
        with self._lock:
            entry = self.entries[number]
            if entry.data is None and self.derived(entry):
                return self._make(entry)
            data = self._value(number, entry)
            if entry.host is None and not entry.alias and not self.unit.rereads and self.unit.pinned is None:
                if self.fresh or self.frame.last_pass:
                    entry.data = None
                    self.held -= entry.nbytes
                    self.frame.shrank(entry.nbytes)
            return data

    def _value(self, number: int, entry: Entry, keep: bool = False) -> torch.Tensor:
        """The buffer, from wherever it is. Those on the host count their readers, unless it is to `keep`."""
        if entry.data is None and entry.host is not None:
            self.frame.reached(self)
            return self._host.get(entry.host, entry.shape, keep)
        if entry.data is None:
            if self.fresh or (self.mode == "retain" and self.frame.last_pass):
                self.unit.rereads = True
            _remake.recompute(self)
        data = entry.data
        if data is None:
            raise KeepError(f"unit `{self.unit.name}` gave no buffer {number} when it was run again.")
        if data._version != entry.version:
            raise changed(describe(entry), entry.version, data._version)
        return data

    def _make(self, entry: Entry) -> torch.Tensor:
        """A derived buffer. What it is made of stays: it has readers of its own."""
        sources = []
        for number in entry.recipe.sources:
            source = self.entries[number]
            derived = source.data is None and self.derived(source)
            sources.append(self._make(source) if derived else self._value(number, source, keep=True))
        made = entry.recipe.make(sources)
        stride, offset = entry.place
        return made.as_strided(entry.shape, stride, offset)

    def changed(self) -> bool:
        return any(value._version != version for value, version in self.versions)

    def settle_copies(self) -> None:
        """The copies to the host have had their time: the device's memory is given back."""
        if self._host is not None and not self._settled:
            self._host.settle()
            self._settled = True

    def call_back(self, number: int) -> None:
        """Starts the copies back for a pass, once."""
        if self._host is not None and self.fetched != number:
            self.fetched = number
            self._host.prefetch()

    def end_pass(self) -> None:
        """A pass is over: what was made again for it goes, unless it is to stay."""
        with self._lock:
            if self._host is not None:
                self._host.end_pass()
            elif self.fresh:
                self.drop()


def _unpack(token: _Token) -> torch.Tensor:
    return token.run.read(token.number)
