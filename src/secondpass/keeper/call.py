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
import warnings
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import ddp
from .budget.plan import Plan
from .errors import changed
from .ledger import Line, PassLine
from .place import caller
from .recompute.op import MADE, Saved, Value
from .recompute.replay import closure
from .recompute.tape import Step, Tape
from .recompute.verify import verify
from .region import Region
from .saved.graph import free, saved_bytes, storage_of
from .saved.store import Store

if TYPE_CHECKING:
    from .keeper import Keeper

__all__ = ["Call"]

GRAPH = 1300  # bytes of a node and its tensors for each saved tensor on a CPU, besides what is in it
_LONG = 64  # operations: where a forward runs out of room, nothing is let go that takes more of them


class Call(Region):
    """See NOTE [ The life of a call ]."""

    def __init__(
        self,
        keeper: Keeper,
        inputs: list[torch.Tensor],
        parameters: list[torch.Tensor],
        store: Store | None,
        plan: Plan | None,
    ) -> None:
        self._keeper = weakref.ref(keeper)
        self.store, self.plan = store, plan
        self.versions = [(value, value._version) for value in parameters if value.requires_grad]
        """The parameters that learn."""
        self._stepped: set[int] = set()
        """Those that an optimizer has changed, whether their versions tell so or not."""
        self.own = {storage_of(value)[0] for value in (*parameters, *inputs)}
        self.tape: Tape | None = None
        self.passes = 0
        self.in_pass = 0
        self._started = 0.0
        self.finished: str | None = None
        self.names: Sequence[str] = ("",)
        """Of the segments."""
        self.result_bytes = 0
        self.native = 0
        """Bytes that PyTorch's own nodes hold, as the plan found them."""
        self.calm: float = float("inf")
        """Up to here there is room."""
        self.settled = False
        self.place = caller()
        self.ddp = ddp.around(keeper.module)
        wrapper = self.ddp() if self.ddp is not None else None
        self.ddp_synchronises = wrapper is not None and bool(wrapper.require_backward_grad_sync)
        self.ddp_passes = 0
        super().__init__(inputs)

    @property
    def keeper(self) -> Keeper | None:
        return self._keeper()

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
        assert self.store is not None
        if self.store.traffic.waiting:
            self.fetch()
        return self.store.read(token)

    def other_steps(self, number: int, func: Any, log: list[Any]) -> Sequence[Step]:
        """The forward does not follow its plan."""
        keeper, self.plan = self.keeper, None
        if keeper is not None:
            self.plan = keeper.plans.find(log, func)
            if self.plan is None and keeper.budget is not None:
                self.calm = 0.6 * max(0, keeper.budget - keeper.others(self))
        if self.plan is None:
            return ()
        self.follow(self.plan)
        return self.plan.steps

    def follow(self, plan: Plan) -> None:
        """Does what was decided for forwards like this one."""
        store = self.store
        assert store is not None
        self.names, self.native = plan.names, plan.native
        store.lean, store.splits, store.anchors = plan.lean, plan.splits, plan.anchors

    def grown(self) -> None:
        """Another operation of a forward without a plan is over: is there still room?"""
        store, keeper = self.store, self.keeper
        if store is None or keeper is None or store.held <= self.calm:
            return
        target = int(self.calm)
        if keeper.policy == "offload":
            self._send_away(target)
        else:
            keeper.press(self)
            self._make_room(target)
        if store.held > target:
            self.calm = 1.1 * store.held  # it is as it is: look again when there is more

    def _make_room(self, target: int) -> None:
        """Lets go of what was saved first, as far as it takes few operations to compute it again."""
        store, tape = self.store, self.tape
        assert store is not None and tape is not None
        for value in list(store.values()):
            if store.held <= target:
                return
            if value.segment != tape.segment or not tape.segment:  # a unit at work is left alone
                self._let_go(value, short=True)

    def _send_away(self, target: int) -> None:
        store = self.store
        assert store is not None
        for value in list(store.values()):
            if store.held <= target:
                break
            store.to_host(value)
        store.depart()

    def _let_go(self, value: Value, short: bool = False) -> bool:
        store = self.store
        assert store is not None
        if value.op is None or value.kind is not MADE or value.written or not value.counted or not value.here:
            return False
        if short:
            ops = closure([value])
            if ops is None or len(ops) > _LONG:
                return False
        if not verify(store, value):
            return False
        store.drop(value)
        return True

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
        if store is not None:
            store.depart()
            keys = {value.key for value in store.values()}
            sizes = dict(map(storage_of, outputs))
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
        store.leaving = self.finished is None and expected == self.passes and not self.open
        copies = store.copies()
        if copies:
            store.traffic.begin(copies, more=expected is not None and self.passes < expected)
            self.fetch()
        if self.finished is not None and store.dead is None and keeper is not None:
            keeper.surprise(self)

    def fetch(self) -> None:
        """Starts copies back from the host: two segments of them, or as many more as the budget has room for now."""
        keeper, store = self.keeper, self.store
        assert store is not None
        loads: dict[int, int] = {}
        for value in store.values():
            if value.host is not None:
                loads[value.segment] = loads.get(value.segment, 0) + value.nbytes
        room = 2 * max(loads.values(), default=0)
        if keeper is not None and keeper.budget is not None:
            left = keeper.budget - self.held - (self.plan.reserve if self.plan is not None else 0)
            room = max(room, min(2 * room, left))
        store.traffic.pump(room)

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
            self.finish(f"pass {self.passes} was the last one of earlier calls")

    # The end -------------------------------------------------------------------------------------------------------

    def finish(self, why: str, for_good: bool = False) -> None:
        """Lets go; see NOTE [ The life of a call ]. `for_good` where no pass can be right any more."""
        store = self.store
        if self.in_pass or (store is None and not for_good):
            return
        self.finished = why
        if store is None:
            free(self.nodes(), lambda: changed(why, None, None))
        elif for_good:
            store.free(why)
        else:
            self.give_way(everything=True)

    def give_way(self, everything: bool = False) -> None:
        """Others need the room: what can be computed again goes, all of it or what lies inside of segments."""
        store = self.store
        if store is None or self.in_pass or self.open:
            return
        for value in list(store.values()):
            if value.host is None and value.counted and (everything or not value.anchor):
                if not self._let_go(value) and value.why == "noise":
                    store.to_bits(value)

    def conclude(self, why: str, for_good: bool) -> None:
        """As `finish`, and the number of passes it had is what later calls may expect."""
        keeper = self.keeper
        if self.passes and not self.in_pass and self.finished is None and keeper is not None:
            keeper.learn_passes(self.passes)
        self.finish(why, for_good)

    def stepped(self, parameters: dict[int, bool]) -> None:
        """An optimizer has made a step: no pass that needs the old parameters can be right any more.

        Versions tell which it has changed, but fused optimizers and those that write to `.data` move none. So whatever
        had a gradient counts as changed.
        """
        if self.finished is not None and (self.store is None or self.store.dead is not None):
            return
        mine = [value for value, version in self.versions if self._changed_by(value, version, parameters)]
        self._stepped.update(map(id, mine))
        if mine and len(self._stepped) == len(self.versions):
            keeper = self.keeper
            if keeper is not None:
                keeper.optimized = True
            self.conclude("an optimizer changed its parameters", for_good=True)
        elif mine and self.store is not None:
            self.store.stepped.update(map(id, mine))

    @staticmethod
    def _changed_by(value: torch.Tensor, version: int, parameters: dict[int, bool]) -> bool:
        return id(value) in parameters and (value._version != version or parameters[id(value)])

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
