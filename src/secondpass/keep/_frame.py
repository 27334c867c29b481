# SPDX-License-Identifier: BSD-3-Clause
"""One call of a kept function: the part of the graph it built, its runs, and the passes over it.

NOTE [ The life of a frame ]
1. The nodes behind the call's outputs hold the frame, tokens hold runs, runs hold the frame. It holds none of them,
   so it dies with the graph: see NOTE [ A part of the graph ].
2. It is finished when optimizers have changed all of its parameters, when the number of passes is reached that
   earlier frames had, when the same function is called again after that, or when it is closed. A finished frame
   lets go of its buffers; a pass that comes nevertheless makes them again.
3. The frame holds the kept function, so that passes work after the user has dropped it. A module that stores tensors
   with history on itself holds the graph: then the frame must not hold the module, or neither would ever die.
"""

from __future__ import annotations

import time
import weakref
from typing import Any

import torch

from . import _ddp, _opaque, _room
from ._errors import KeepError, changed
from ._graph import Node, storage_of, walk
from ._late import Released, built_between, weigh
from ._ledger import Line
from ._offload import Traffic
from ._part import Part, mark
from ._replay import replaying
from ._run import Run
from ._state import Surroundings, outdated, severed
from ._tree import tensors
from ._unit import Unit

__all__ = ["Frame"]

_GRAPH = 1300  # bytes of a node and its tensors for each buffer, besides what is in it


class Frame(Part):
    """See NOTE [ The life of a frame ]."""

    def __init__(self, keeper: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._weak, self._strong = weakref.ref(keeper), keeper
        self.args, self.kwargs = _opaque.wrap(severed(args)), _opaque.wrap(severed(kwargs))
        root: Unit = keeper.root
        inputs = list(tensors((args, kwargs)))
        parameters = root.habits.parameters()
        self.versions = [(value, value._version) for value in parameters]
        self._inputs = [(value, value._version) for value in tensors((self.args, self.kwargs))]
        devices = tuple({value.device: None for value in (*parameters, *inputs)})
        self._on_cpu = all(device.type == "cpu" for device in devices)
        self.surroundings = Surroundings(root.habits, devices)
        self.runs: list[weakref.ref[Run]] = []
        self.boundary: dict[int, int] = {}
        self._boundary_bytes = self._result_bytes = 0
        self.held = self.count = 0
        self.largest = self.derived = self.weight = 0
        self.most = 0
        self.calm: float = float("inf")
        """Up to here nobody has to give way: looked at again with each unit."""
        self.glue: int | None = None
        self.passes: list[dict[str, Any]] = []
        self.in_pass = 0
        self.finished: str | None = None
        self.last_pass = False
        self._let_go: weakref.ref[Released] | None = None  # its buffers' hooks hold it, and it holds this frame
        self.busy = False
        self.signatures: list[Any] = []
        self.follows = True
        """So far this call has the sizes of the one that the plan was made for."""
        self.ddp = _ddp.around(keeper.module)
        self.ddp_synchronises = self.ddp is not None and self.ddp().require_backward_grad_sync
        self.ddp_passes = 0
        self.traffic, self._window = Traffic(), 0
        super().__init__(inputs)

    @property
    def keeper(self) -> Any:
        found = self._weak()
        if found is None:
            raise KeepError("the kept function is gone, and this pass needs it. Hold it as long as its outputs.")
        return found

    # The call ------------------------------------------------------------------------------------------------------

    def close_call(self, result: Any) -> bool:
        """The forward is over. False where nothing in it needs a gradient."""
        found = self.close(tensors(result))
        habits = self.keeper.root.habits
        self.surroundings.settle(habits)
        sizes = dict(map(storage_of, tensors(result)))
        self._result_bytes = sum(size for key, size in sizes.items() if key not in self.boundary)
        if habits.hold_history():
            self._strong = None  # NOTE [ The life of a frame ] 3
        self._give_back()
        self._note()
        return found

    def own_memory(self) -> set[int]:
        own = {storage_of(value)[0] for value, _ in self.versions}
        own.update(storage_of(value)[0] for value, _ in self._inputs)
        return own

    # Bytes ---------------------------------------------------------------------------------------------------------

    def live(self) -> list[Run]:
        return [run for run in (known() for known in self.runs) if run is not None]

    def grew(self, run: Run, size: int, again: bool = False) -> None:
        self.held += size
        if not again and self.held > self.calm:
            _room.make_room(self, run)
        if size > self.largest:
            self.largest = size
        if self.held > self.most:
            self.most = self.held

    def _note(self) -> None:
        self.keeper.most = max(self.keeper.most, self.most + self.fixed())

    def shrank(self, size: int) -> None:
        self.held -= size

    def reserve(self, slim: bool = False) -> int:
        """Room for what is on its way through a unit.

        An activation's gradient comes and goes at once, both of the size of the largest buffer. Or a product has its
        gradient, its weight's, and its input, if that is made only now. Meanwhile the gradient of the unit's result
        waits to be added, and a dropout may have made another of that size.
        """
        product = self.largest + (self.derived if slim else 0) + self.weight + 2 * self.edge
        return max(2 * self.largest + self.edge, product)

    def beside(self) -> int:
        """Room for what a forward does not save, or not yet. Without a plan passes and comparing must fit as well."""
        return self.largest + 2 * self.edge if self.follows else self.reserve()

    @property
    def edge(self) -> int:
        """The largest argument of a unit: as large as its result, and as the gradients of both."""
        return max(self.boundary.values(), default=0)

    def add_run(self, run: Run) -> None:
        before = self.live()
        for other in before[-1:]:
            other.make_way()
        self._give_back(max((other.bytes for other in before), default=0))
        self.runs.append(weakref.ref(run))
        for key, size in run.boundary.items():
            if self.boundary.setdefault(key, size) is size:
                self._boundary_bytes = sum(self.boundary.values())
        if self.keeper.budget is not None:
            self.calm = self.keeper.budget - self.beside() - self.fixed() - self.keeper.others(self)

    def _give_back(self, ahead: int = 0) -> None:
        """Copies to the host have had their time: gives back their memory as far as others need it."""
        hosts = [run.host for run in self.live() if run.host is not None]
        budget = self.keeper.budget
        if budget is None:
            hosts = hosts[:-1]  # it goes while the unit after it runs
        leaving = sum(host.leaving for host in hosts)
        # In a forward the next unit needs room for its buffers and for what it does not save, in a pass for gradients.
        beside = ahead + self.largest if ahead else self.reserve(slim=True)
        for host in hosts:
            if budget is None or self.held + self.fixed() + leaving + beside > budget:
                leaving -= host.leaving
                host.settle()

    def fixed(self) -> int:
        """Bytes that no plan can save: arguments of units, what lies between the units, the results and the graph."""
        graph = _GRAPH * self.count if self._on_cpu else 0
        return self._boundary_bytes + (self.glue or 0) + self._result_bytes + graph

    def give_way(self) -> None:
        """Another call needs room: everything that can be made again goes."""
        if not self.in_pass:
            for run in self.live():
                if run.host is not None:
                    run.send_rest()
                elif run.mode == "retain" and run.evictable():
                    run.evict("to make room for a later call")

    # Passes --------------------------------------------------------------------------------------------------------

    def begin_pass(self, roots: tuple[Any, ...]) -> None:
        for root in roots:
            self.anchor(root)
        self.in_pass += 1
        learned = self.keeper.passes
        self.last_pass = self.finished is None and learned is not None and len(self.passes) + 1 == learned
        hosts = [run.host for run in self.live() if run.host is not None]
        self._window = 2 * max((host.on_host for host in hosts), default=0)
        self.traffic.begin(hosts, more=learned is not None and len(self.passes) + 1 < learned)
        self.fetch()
        self.passes.append({"start": time.perf_counter(), "recomputed": 0, "recompute_seconds": 0.0})

    def end_pass(self) -> None:
        self.in_pass -= 1
        record = self.passes[-1]
        record["seconds"] = time.perf_counter() - record.pop("start", time.perf_counter())
        for run in self.live():
            run.end_pass()
        self.traffic.end()
        released = self._released()
        if released is not None:
            released.end_pass()
        self._note()
        self.keeper.passed(len(self.passes), record)
        learned = self.keeper.passes
        if learned is not None and len(self.passes) > learned:
            self.keeper.learn_passes(len(self.passes))
        if self.finished is None and learned is not None and len(self.passes) >= learned:
            # Letting PyTorch's own nodes go costs a walk: where an optimizer's step will do it, once is enough.
            if self.runs or not self.keeper.optimized:
                self.finish(f"pass {len(self.passes)} was the last one of earlier calls")
        self.last_pass = False

    def fetch(self) -> None:
        """Starts copies back from the host: two units of them, or as many more as the budget has room for now."""
        if not self.traffic.waiting:
            return
        room, budget = self._window, self.keeper.budget
        if budget is not None:
            room = max(room, min(2 * room, budget - self.fixed() - self.reserve(slim=True) - 2 * self.edge - self.held))
        self.traffic.pump(room)

    def recomputed(self, run: Run, seconds: float) -> None:
        if self.passes:
            self.passes[-1]["recomputed"] += 1
            self.passes[-1]["recompute_seconds"] += seconds

    # The end -------------------------------------------------------------------------------------------------------

    def finish(self, why: str, for_good: bool = False) -> None:
        """Lets go of everything; see NOTE [ The life of a frame ] 2. `for_good` where no pass can be right any more."""
        if self.in_pass:
            return
        self.finished = why
        for run in self.live():
            run.forget(why, for_good)
        if self._released() is None:
            nodes = self.nodes()
            if nodes:
                released = Released(self._again)
                released.release(self.places(nodes), self.own_memory(), remember=not for_good)
                self._let_go = weakref.ref(released)

    def _released(self) -> Released | None:
        return self._let_go() if self._let_go is not None else None

    def _again(self) -> dict[int, Node]:
        """The call once more, for a pass that nobody expected."""
        for value, version in (*self.versions, *self._inputs):
            if value._version != version:
                raise changed("a parameter or argument of the kept function", version, value._version)
        replaying.depth = getattr(replaying, "depth", 0) + 1
        try:
            with self.surroundings.again(self.keeper.root.habits), torch.enable_grad():
                start = mark()
                result = self.keeper.call(*severed(_opaque.unwrap(self.args)), **severed(_opaque.unwrap(self.kwargs)))
                inside = built_between(start, mark())
        finally:
            replaying.depth -= 1
        nodes = walk([value.grad_fn for value in tensors(result)], inside)
        return {node._sequence_nr() - start: node for node in nodes}

    def conclude(self, why: str, for_good: bool) -> None:
        """As `finish`, and the number of passes it had is what later calls may expect."""
        if self.passes and not self.in_pass:
            self.keeper.learn_passes(len(self.passes))
        self.finish(why, for_good)

    def abandon(self) -> None:
        """The forward failed."""
        self.finished = "its forward failed"
        for run in self.live():
            run.forget(self.finished, for_good=True)

    def lines(self, number: int) -> list[Line]:
        """For the ledger."""
        found = []
        for run in self.live():
            host = run.on_host
            state = "host" if host else "held" if run.held else "freed" if self.finished else "recompute"
            layers = len(run.left_out)
            why = f"{run.reason}, {layers} layer{'s' if layers > 1 else ''} made again" if layers else run.reason
            found.append(Line(number, run.unit.name, state, run.bytes, run.held, host, run.recomputes, why))
        loose = weigh(self.nodes(), self.own_memory() | set(self.boundary)) + self._boundary_bytes
        released = self._released()
        again = released.times if released is not None else 0
        why = self.finished or "held by PyTorch's own nodes"
        found.append(Line(number, "", "held" if loose else "freed", loose, loose, 0, again, why))
        return found

    def stepped(self, parameters: set[int]) -> None:
        """An optimizer has changed some parameters: no pass that needs the old ones can be right any more."""
        if self.finished is not None or not any(id(v) in parameters and v._version != n for v, n in self.versions):
            return
        if outdated(self.versions):
            self.keeper.optimized = True
            self.conclude("an optimizer changed its parameters", for_good=True)
            return
        # What depends on the others may still be walked: units that are as they were can be made again.
        for run in self.live():
            if run.outdated() and not self.in_pass:
                run.forget("an optimizer changed its parameters", for_good=True)
