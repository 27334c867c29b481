# SPDX-License-Identifier: BSD-3-Clause
"""One kept call: the passes over it, and its end.

NOTE [ The life of a call ]
1. Tokens in PyTorch's graph hold the call, and so do the nodes behind its outputs. It holds none of them, nor the kept
   function, its module or its arguments. So it dies with the graph.
2. It is finished when optimizers have changed its parameters, when the number of passes is reached that earlier calls
   had, when the same function is called again after that, or when it is closed. A finished call holds nothing that
   can be computed again. A pass that comes nevertheless computes it, and says so once.
3. Where optimizers have changed all of its parameters no pass can be right any more: everything goes, for good.
4. Nothing is let go that has not been computed once and compared, bit for bit, while it was still here: see `verify`.
5. A call without a tape (policy retain) has nothing to compute from. It lets go only for good.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import torch
from torch import nn

from .budget.plan import Plan, Plans
from .ddp import ddp_around
from .errors import changed, freed
from .ledger import Line, PassLine
from .place import caller
from .recompute.op import Saved, Value
from .recompute.replay import closure
from .recompute.tape import Script, Tape
from .recompute.verify import verify
from .region import Region
from .saved.graph import free, saved_bytes, storage_of
from .saved.others import Packed
from .saved.store import Store
from .unseen import dispatched, overridden, unseen

__all__ = ["Call", "Owner"]

GRAPH = 1300  # bytes of a node and its tensors for each saved tensor on a CPU, besides what is in it
_STEPPED = "an optimizer changed its parameters"
_LONG = 64  # operations: where a forward runs out of room, nothing is let go that takes more of them


class Owner(Protocol):
    """What belongs to all calls of one function: see `Keeper`."""

    plans: Plans
    steps_between: bool | None

    @property
    def module(self) -> nn.Module | None: ...

    @property
    def policy(self) -> str: ...

    @property
    def budget(self) -> int | None: ...

    @property
    def passes(self) -> int | None: ...

    def others(self, call: Call, finished: bool = True) -> int: ...

    def press(self, call: Call) -> None: ...

    def settle(self, call: Call) -> None: ...

    def resolve_budget(self, full: int) -> int | None: ...

    def take_least(self, least: int) -> int | None: ...

    def passed(self, call: Call, line: PassLine) -> None: ...

    def learn_passes(self, count: int) -> None: ...

    def surprise(self, call: Call) -> None: ...


class Call(Region):
    """See NOTE [ The life of a call ]."""

    def __init__(
        self,
        keeper: Owner,
        inputs: list[torch.Tensor],
        parameters: list[torch.Tensor],
        store: Store | None,
        plan: Plan | None,
    ) -> None:
        self._keeper = weakref.ref(keeper)
        self.store, self.plan = store, plan
        self._parameters = parameters
        """Of the model. Those that learn, and do so in this call, decide when no pass can be right any more."""
        self._stepped: set[int] = set()
        """Those that an optimizer has changed, whether their versions tell so or not."""
        self.given = [value.shape for value in inputs]
        self._inputs = {storage_of(value)[0] for value in inputs}
        self.tape: Tape | None = None
        self.replays = False
        """Saved tensors can be computed again: there was a tape."""
        self.passes = 0
        self.in_pass = 0
        self._started = 0.0
        self._travel = 0
        """Room for copies from the host in the present pass."""
        self.finished: str | None = None
        self.names: list[str] = [""]
        """Of the segments."""
        self.result_bytes = 0
        self.results: frozenset[int] = frozenset()
        """The memory of the results."""
        self.native = 0
        """Bytes that PyTorch's own nodes hold, as the plan found them."""
        self.calm: float = float("inf")
        """Up to here there is room."""
        self.settled = False
        self.packed: list[weakref.ref[Packed]] = []
        """What hooks of others have packed meanwhile."""
        self.place = caller()
        self.ddp = ddp_around(keeper.module)
        wrapper = self.ddp() if self.ddp is not None else None
        self.ddp_synchronises = wrapper is not None and bool(wrapper.require_backward_grad_sync)
        self.ddp_passes = 0
        super().__init__(inputs)

    @property
    def keeper(self) -> Owner | None:
        return self._keeper()

    @property
    def own(self) -> set[int]:
        """The memory of parameters and arguments, which is there in any case."""
        return self._inputs.union(storage_of(value)[0] for value in self._parameters)

    @property
    def held(self) -> int:
        """Bytes that count against the budget now."""
        return 0 if self.store is None else self.store.held + self.fixed()

    def fixed(self) -> int:
        """Bytes that no plan can save: results, what PyTorch's own nodes hold, and on a CPU the graph."""
        if self.store is None:
            return self.result_bytes
        graph = 0 if self.store.on_gpu else GRAPH * self.store.tokens
        return self.result_bytes + self.native + graph

    # The forward ---------------------------------------------------------------------------------------------------

    def unpack(self, token: Saved) -> torch.Tensor:
        """Given to PyTorch with every token: so the graph holds the call."""
        store = self.store
        assert store is not None
        if overridden() or dispatched():  # somebody's mode, around the pass: this is not for it to see
            with unseen():
                if store.traffic.waiting:
                    self.fetch()
                return store.read(token)
        if store.traffic.waiting:
            self.fetch()
        return store.read(token)

    def other_script(self, log: list[Any], func: Any) -> Script | None:
        """The forward does not follow its plan."""
        keeper, self.plan = self.keeper, None
        if keeper is None:
            return None
        self.plan = keeper.plans.find(log, func)
        if self.plan is None:
            if keeper.budget is not None:
                self.calm = 0.6 * max(0, keeper.budget - keeper.others(self))
            return None
        self.follow(self.plan)
        return self.plan.script(bool(keeper.steps_between))

    def follow(self, plan: Plan) -> None:
        """Does what was decided for forwards like this one."""
        store = self.store
        assert store is not None
        self.names, self.native, self.result_bytes = list(plan.names), plan.native, plan.results
        store.lean, store.splits, store.anchors = plan.lean, plan.splits, plan.anchors

    def segment_over(self) -> None:
        """A part of the forward is over: what it saved for the host leaves."""
        store = self.store
        assert store is not None
        if store.departing:
            with unseen():  # it is no part of the forward
                room, segment = self._room()
                store.depart(room - segment)  # the next segment leaves only when it is over

    def _room(self) -> tuple[int, int]:
        """Bytes that may be on their way to the host and back, two segments or more where the budget allows it; and the
        bytes of one segment."""
        keeper, plan, store = self.keeper, self.plan, self.store
        assert store is not None
        if plan is None:
            loads: dict[int, int] = {}
            for value in store.values():
                if value.host is not None:
                    loads[value.segment] = loads.get(value.segment, 0) + value.nbytes
            most = max(loads.values(), default=0)
            return 2 * most, most
        room, segment = plan.room, plan.room // 2
        if keeper is not None and keeper.budget is not None:
            room += max(0, min(plan.room, keeper.budget - keeper.others(self) - plan.peak))
        return room, segment

    def begin_segment(self, name: str) -> None:
        assert self.tape is not None
        self.segment_over()
        self.names.append(name)
        self.tape.segment = len(self.names) - 1

    def grown(self) -> None:
        """Another operation of a forward without a plan is over: is there still room?"""
        store, keeper = self.store, self.keeper
        if store is not None and keeper is not None and store.held > self.calm:
            with unseen():
                self._give_some(store, keeper)

    def _give_some(self, store: Store, keeper: Owner) -> None:
        target = int(self.calm)
        if keeper.policy == "offload":
            self._send_away(target)
        else:
            keeper.press(self)
            self._make_room(target, spare_unit=True)
            if keeper.budget is not None and store.held + store.largest > keeper.budget:
                self._make_room(target, spare_unit=False)
        if store.held > target:
            self.calm = max(self.calm, 1.05 * store.held)  # it is as it is: look again when there is more

    def _make_room(self, target: int, spare_unit: bool) -> None:
        """Lets go of what was saved first, as far as it takes few operations to compute it again."""
        store, tape = self.store, self.tape
        assert store is not None
        assert tape is not None
        for value in list(store.values()):
            if store.held <= target:
                return
            if value.anchor or (spare_unit and value.segment == tape.segment and tape.segment):
                continue
            if not self._let_go(value, short=True) and value.why == "noise":
                store.to_bits(value)

    def _send_away(self, target: int) -> None:
        store = self.store
        assert store is not None
        for value in list(store.values()):
            if store.held <= target:
                break
            if value.why != "noise" or not store.to_bits(value):
                store.to_host(value)
        store.depart(store.largest)

    def _let_go(self, value: Value, short: bool = False) -> bool:
        store = self.store
        assert store is not None
        if not value.droppable or not value.here:
            return False
        if short:
            ops = closure([value])
            if ops is None or len(ops) > _LONG:
                return False
        op, known, plan = value.op, value.trusted, self.plan
        assert op is not None
        same = verify(store, value)
        if not known and plan is not None and op.number < len(plan.steps):
            # Later calls need not compare again. A plan that was made for a pass in the midst of a block ends there.
            step = plan.steps[op.number]
            slot = frozenset([op.origin or value.slot])
            if value.op is None:
                step.solid |= slot
            elif same:
                step.trusted |= slot
                for other in closure([value]) or ():
                    plan.steps[other.number].grad |= other.grad and other.cast is None
        if same:
            store.drop(value)
        return same

    @property
    def most(self) -> int:
        """The most bytes that counted at once."""
        return 0 if self.store is None else self.store.most + self.fixed()

    def close_tape(self) -> None:
        if self.tape is not None:
            self.tape.close()
            self.tape = None

    def close_call(self, outputs: list[torch.Tensor]) -> bool:
        """The forward is over. False where nothing in it can be walked."""
        found = self.close_region(outputs)
        store = self.store
        if store is None:
            self.hold_from_below()
        else:
            self.segment_over()
            if self.plan is None:
                keys = {value.key for value in store.values()}
                sizes = dict(map(storage_of, outputs))
                self.results = frozenset(sizes)
                self.result_bytes = sum(size for key, size in sizes.items() if key not in keys and key not in self.own)
            found = found or store.tokens > 0
        return found

    # Passes --------------------------------------------------------------------------------------------------------

    def begin_pass(self, roots: tuple[Any, ...]) -> None:
        for root in roots:
            self.anchor(root)
        self.in_pass += 1
        self.passes += 1
        self._started = time.perf_counter()
        keeper, store = self.keeper, self.store
        expected = keeper.passes if keeper is not None else None
        if store is None:
            return
        if self.tape is not None:
            self.tape.resting = True
        if keeper is not None and self.open and self.passes == 1:
            keeper.settle(self)
        store.turn += 1
        store.operations, store.seconds = 0, 0.0
        copies = store.copies()
        if copies:
            store.traffic.begin(copies, more=expected is not None and self.passes < expected)
            room, segment = self._room()
            self._travel = max(segment, room - store.largest)  # what was read last is still in use
            self.fetch()
        if self.finished is not None and store.dead is None and keeper is not None:
            keeper.surprise(self)

    def fetch(self) -> None:
        """Starts copies back from the host, as many as there is room for."""
        assert self.store is not None
        self.store.traffic.pump(self._travel)

    def end_pass(self) -> None:
        self.in_pass -= 1
        keeper, store = self.keeper, self.store
        seconds = time.perf_counter() - self._started
        if store is not None:
            if self.tape is not None and not self.in_pass:
                self.tape.resting = False
            store.end_pass()
        if keeper is None:
            return
        operations, again = (0, 0.0) if store is None else (store.operations, store.seconds)
        keeper.passed(self, PassLine(self.passes, seconds, operations, again))
        expected = keeper.passes
        if expected is not None and self.passes > expected:
            keeper.learn_passes(self.passes)
        if self.finished is None and expected is not None and self.passes >= expected and not self.open:
            if keeper.steps_between:
                return  # the optimizer's step will do it
            self.finish(f"pass {self.passes} was the last one of earlier calls")

    # The end -------------------------------------------------------------------------------------------------------

    def finish(self, why: str, for_good: bool = False) -> None:
        """Lets go; see NOTE [ The life of a call ]. `for_good` where no pass can be right any more."""
        store = self.store
        if self.in_pass or not (self.replays or for_good):
            return
        self.finished = why
        if for_good:
            if store is not None:
                store.free(_error(why))
            # What the plan holds is held by PyTorch's own nodes.
            free(self.nodes(), _error(why), self.unpack if self.replays else None)
            for known in self.packed:
                if (packed := known()) is not None:
                    packed.free(_error(why))
        else:
            self.give_way(everything=True)

    def give_way(self, everything: bool = False) -> None:
        """Others need the room: what can be computed again goes, all of it or what lies inside of segments."""
        store = self.store
        if store is None or self.in_pass or self.open or not store.lock.acquire(blocking=False):
            return  # somebody is at work with it, in another thread
        try:
            for value in list(store.values())[::-1]:  # what it is compared by is then still here
                if value.host is None and value.counted and (everything or not value.anchor):
                    if not self._let_go(value) and value.why == "noise":
                        store.to_bits(value)
        finally:
            store.lock.release()

    def conclude(self, why: str, for_good: bool) -> None:
        """As `finish`, and the number of passes it had is what later calls may expect."""
        keeper = self.keeper
        if self.passes and not self.in_pass and self.finished is None and keeper is not None:
            keeper.learn_passes(self.passes)
        self.finish(why, for_good)

    def stepped(self, parameters: dict[int, bool]) -> None:
        """An optimizer has made a step: no pass that needs the old parameters can be right any more.

        Versions would tell which it has changed, but fused optimizers and those that write to `.data` move none. So
        whatever had a gradient counts as changed.
        """
        store = self.store
        if self.finished is not None and (store is None or store.dead is not None):
            return
        changed_ones = {key for key, had_gradient in parameters.items() if had_gradient}
        if store is not None:
            store.stepped |= changed_ones
        self._stepped |= changed_ones
        learning = {id(value) for value in self._parameters if value.requires_grad}
        if changed_ones.isdisjoint(learning):
            return
        if not self._stepped.issuperset(learning):  # some may have had no part in this call
            learning &= {id(leaf) for leaf in self.leaves()}
        if learning and self._stepped.issuperset(learning):
            keeper = self.keeper
            if keeper is not None and keeper.steps_between is None:
                keeper.steps_between = True
            self.conclude(_STEPPED, for_good=True)

    # The ledger ----------------------------------------------------------------------------------------------------

    def lines(self, number: int) -> list[Line]:
        found = []
        if self.store is not None:
            groups: dict[int, list[Value]] = {}
            for value in self.store.values():
                groups.setdefault(value.segment, []).append(value)
            for segment, values in sorted(groups.items()):
                found.append(self._line(number, self._name(segment), values))
        held = saved_bytes(self.nodes())
        mine = {value.key for value in self.store.values()} if self.store is not None else set()
        loose = sum(size for key, size in held.items() if key not in self.own and key not in mine)
        if loose or self.store is None:
            why = self.finished or "held by PyTorch's own nodes"
            found.append(Line(number, "", "held" if loose else "freed", loose, loose, 0, why))
        return found

    def _name(self, segment: int) -> str:
        return self.names[segment] if segment < len(self.names) else ""

    def _line(self, number: int, name: str, values: Iterable[Value]) -> Line:
        total = held = host = again = 0
        reasons: dict[str, int] = {}
        for value in values:
            total += value.counted
            if value.host is not None:
                host += value.nbytes
            elif value.data is not None:
                held += value.counted
                if value.why is not None and value.counted:
                    reasons[value.why] = reasons.get(value.why, 0) + value.counted
            elif value.bits is not None:
                held += value.bits.nbytes
            elif value.counted:
                again += 1
        gone = total - held - host
        state = "host" if host > max(held, gone) else "held" if held and held >= gone else "recompute"
        if self.finished and not held and not host:
            state = "freed"
        why = self.finished or ("within the budget" if not again else f"{again} of its tensors are computed again")
        if host and not again and not self.finished:
            why = "on the host" if not held else "on the host in part"
        if reasons:
            worst = max(reasons, key=reasons.__getitem__)
            why += "" if worst == "noise" else f"; held because {worst}"
        return Line(number, name, state, total, held, host, why)


def _error(why: str) -> Callable[[], RuntimeError]:
    """What a pass is told that comes after the end."""
    if why == _STEPPED:
        return lambda: changed("a parameter", None, None)
    return lambda: freed(f"The kept call is over: {why}.")
