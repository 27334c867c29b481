# SPDX-License-Identifier: BSD-3-Clause
"""After a forward that was written down in full: what stays for its passes, and what later forwards shall do.

NOTE [ Settling ]
1. The plan is made from what this forward saved. What it drops is computed once and compared first; a value that comes
   out differently is held, and the plan is made anew without it.
2. The same forward follows its plan in what is still here. Later ones follow it from the start: what it drops is not held
   at all, not even while the forward runs.
3. What the last segment drops stays until the first pass has read it, as far as there is room beside the gradients: a
   pass begins there. All of it may be more than a pass ever has at once when it computes it.
4. As long as optimizers step between the calls, only those operations are written down that the plan wants to run again.
   Otherwise a call that is over must be able to make room for the next one: then all are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..errors import BudgetError
from ..recompute.op import GIVEN, MADE, PARAMETER, Op, Value
from ..recompute.replay import closure
from ..recompute.tape import Step
from ..recompute.verify import verify
from ..saved.graph import held_by, storage_of
from ..saved.mask import bits_of
from ..saved.store import BITS, CHEAP, DROP, HOLD, HOST, LINGER, Store
from .offload import send, travelling
from .plan import Plan, PlanLine
from .planner import Choice, Planner
from .segments import Way, cut, ways
from .size import readable

if TYPE_CHECKING:
    from ..call import Call, Owner

__all__ = ["settle"]

Place = tuple[int, int, Value]
_BESIDE = 256  # the part of a budget that what is sent to the host leaves free


def settle(call: Call, keeper: Owner) -> None:
    """See NOTE [ Settling ]."""
    store, tape = call.store, call.tape
    assert store is not None
    assert tape is not None
    assert store.places is not None
    places = [(number, pack, value) for number, pack, known in store.places if (value := known()) is not None]
    call.native = _pin_native(store, call, places)
    results = frozenset(value for _, _, value in places if value.key in call.results)
    cutter = _Cutter(tape.ops, call.names, places, call.fixed(), _costs(tape.ops, store.on_gpu), results)
    budget = keeper.resolve_budget(cutter.planner(cutter.ways[0]).all_held)
    others = keeper.others(call)
    if others and budget is not None:
        keeper.press(call)
        others = keeper.others(call)
    while True:
        try:
            decision = cutter.decide(keeper.policy, None if budget is None else budget - others)
        except BudgetError as error:
            needed = keeper.others(call, finished=False)
            if needed < others:  # what a call still holds that is over goes with its name, when this one takes it
                others = needed
                continue
            taken = keeper.take_least(error.least + others)
            if taken is None or taken == budget:
                raise
            budget = taken
            continue
        dropped = () if decision.choice is None else decision.choice.dropped
        failed = next((value for value in sorted(dropped, key=_number) if not verify(store, value)), None)
        if failed is None:
            break
        failed.op = None  # also where a parameter was written to in the forward itself
    call.names = cutter.names
    _apply(store, decision)
    plan = _plan(call, keeper, places, decision)
    if not others:
        keeper.plans.add(plan)
    keeper.plans.last = call.plan = plan
    call.segment_over()  # what was sent to the host just now
    store.places = None


class _Decision(NamedTuple):
    """What becomes of each value, and the most bytes that will be alive."""

    planner: Planner
    actions: dict[Value, str]
    choice: Choice | None
    peak: int
    room: int = 0
    """Of that, for what is on its way to the host and back."""


class _Cutter:
    """Cuts a forward into segments in several ways, and takes the one with the best plan."""

    def __init__(
        self,
        ops: list[Op],
        names: list[str],
        places: list[Place],
        fixed: int,
        costs: Callable[[Op], float],
        results: frozenset[Value],
    ) -> None:
        self._ops, self._places, self._fixed, self._costs = ops, places, fixed, costs
        self._results = results
        self.ways = ways([op.segment for op in ops], names)
        self.names: list[str] = []

    def planner(self, way: Way) -> Planner:
        for op, segment in zip(self._ops, way.segments, strict=True):
            op.segment = segment
        self.names = cut(self._ops, way.names, way.pieces)
        for number, _, value in reversed(self._places):
            if value.kind is not MADE:
                value.segment = self._ops[number].segment
        return Planner(self._ops, self._places, self._fixed, self._costs, self._results)

    def decide(self, policy: str, budget: int | None) -> _Decision:
        found: list[tuple[float, int, _Decision]] = []
        refused: list[BudgetError] = []
        for number, way in enumerate(self.ways):
            try:
                decision = _choose(self.planner(way), policy, budget)
            except BudgetError as error:
                refused.append(error.with_traceback(None))
                continue
            choice = decision.choice
            found.append((decision.peak if choice is None or budget is None else choice.seconds, number, decision))
            if choice is None or not choice.dropped:
                break
        if not found:
            try:
                raise min(refused, key=lambda error: error.least)
            finally:
                refused.clear()  # its traceback leads here, and from here to all that the forward saved
        _, number, decision = min(found, key=lambda way: way[:2])
        if len(found) + len(refused) > 1:
            decision = _choose(self.planner(self.ways[number]), policy, budget)
        return decision


def _pin_native(store: Store, call: Call, places: list[Place]) -> int:
    """What PyTorch's own nodes hold besides (custom Functions do) is held in any case, also where it was let go before.

    Returns the bytes of what they alone hold.
    """
    found = {storage_of(tensor): tensor.detach() for tensor in held_by(call.nodes())}
    found.pop((0, 0), None)
    known = {key: tensor for (key, _), tensor in found.items()}
    mine = set()
    for _, _, value in places:
        mine.add(value.key)
        tensor = known.get(value.key)
        if tensor is None or not value.counted or value.native or value.written:
            continue
        if value.data is None and value.bits is None and tensor._version == value.version:
            value.host = None
            store.hold(value, tensor)
        if value.here:
            value.op, value.native, value.why = None, True, "a node that keep did not see holds it too"
    return sum(size for key, size in found if key not in mine and key not in call.own)


def _costs(ops: list[Op], on_gpu: bool) -> Callable[[Op], float]:
    """Operations of one kind take equally long: the one time that was not disturbed counts."""
    if on_gpu:
        torch.cuda.synchronize()
    known: dict[Any, float] = {}

    def key(op: Op) -> Any:
        return (
            op.func,
            tuple(ref.form.shape for ref in op.inputs),
            tuple(leaf.shape for leaf, _, _ in op.leaves),
            op.grad,
        )

    for op in ops:
        likeness, seconds = key(op), op.took()
        known[likeness] = min(seconds, known.get(likeness, seconds))
    return lambda op: known.get(key(op), 0.0)


def _choose(planner: Planner, policy: str, budget: int | None) -> _Decision:
    actions: dict[Value, str] = dict.fromkeys(planner.values, HOLD)
    if policy == "offload":
        return _Decision(planner, actions, None, *_offload(planner, budget, actions))
    if budget is None:
        choice: Choice | None = planner.everything()
    else:
        choice = planner.choose(budget)
        if choice is None:
            raise _refusal(planner, budget, planner.least())
    assert choice is not None
    actions.update({value: CHEAP if value in choice.cheap else DROP for value in choice.dropped})
    if choice.bits:
        actions.update(dict.fromkeys(planner.bits, BITS))
    return _Decision(planner, actions, choice, choice.peak)


def _offload(planner: Planner, budget: int | None, actions: dict[Value, str]) -> tuple[int, int]:
    """Returns the most bytes that will be alive, and how many of them are for copies on their way."""
    movable = [value for value in planner.values if value.counted and value.kind is not PARAMETER and not value.written]
    movable = [value for value in movable if not value.native]
    stays = {*planner.bits, *(value for value in movable if planner.cached([value]))}  # autocast holds these meanwhile
    movable = [value for value in movable if value not in stays]
    bits = sum(bits_of(value.nbytes, value.dtype) for value in planner.bits)
    if budget is not None and planner.all_held <= budget:
        return planner.all_held, 0
    groups: dict[int, list[Value]] = {}
    for value in movable:
        groups.setdefault(value.segment, []).append(value)
    sizes = [[(number, value.counted) for number, value in enumerate(group)] for group in groups.values()]
    held = planner.full - sum(value.counted for value in (*movable, *planner.bits)) + bits
    fixed = planner.fixed + planner.reserve(lean=True) + held
    sent: list[frozenset[int]] | None = [frozenset(number for number, _ in run) for run in sizes]
    if budget is not None:
        least = min(planner.all_held, fixed + travelling(sizes, sent or []))
        if least <= budget:  # with some room for what others compute from the results, if there can be some
            sent = send(sizes, fixed, budget - budget // _BESIDE)
            sent = send(sizes, fixed, budget) if sent is None else sent
        else:
            sent = None
        if sent is None:
            raise _refusal(planner, budget, least)
    away = [group[n] for group, numbers in zip(groups.values(), sent or [], strict=True) for n in numbers]
    actions.update(dict.fromkeys(away, HOST))
    actions.update(dict.fromkeys(planner.bits, BITS))
    here = sum(value.counted for value in movable) - sum(value.counted for value in away)
    room = travelling(sizes, sent or [])
    return fixed + here + room, room


def _refusal(planner: Planner, budget: int, smallest: int) -> BudgetError:
    return BudgetError(
        f"a budget of {readable(budget)} ({budget} bytes) cannot be met here: the least that can is "
        f"{readable(smallest)} ({smallest} bytes), of which {readable(planner.fixed)} are results, the graph and what "
        f"keep did not see, and {readable(planner.reserve(lean=True))} for gradients on their way. Raise the budget, or "
        f"choose smaller units.",
        smallest,
    )


def _apply(store: Store, decision: _Decision) -> None:
    """In this very call."""
    planner, actions, choice, *_ = decision
    for value, action in actions.items():
        value.anchor = planner.anchor(value)
        value.cheap = action is CHEAP
        if action in (DROP, CHEAP):
            store.drop(value)
        elif action is BITS:
            store.to_bits(value)
        elif action is HOST:
            store.to_host(value)
    if choice is not None:
        store.lean, store.splits = choice.lean, choice.splits
    for value in actions:
        if value.op is not None and value.here and _needs_more(value.op):
            value.op = None  # it is held: what it is computed from, and nothing else needs, is not


def _needs_more(op: Op) -> bool:
    """Memory is held only so that this operation could be run again."""
    return any(needed.kind not in (MADE, PARAMETER) and not needed.tokens for needed in op.needs())


def _plan(call: Call, keeper: Owner, places: list[Place], decision: _Decision) -> Plan:
    planner, actions, choice, peak, room = decision
    tape = call.tape
    assert tape is not None
    steps = [Step(op.func, shape, op.segment) for op, (_, shape) in zip(tape.ops, tape.log, strict=True)]
    packs: dict[int, dict[int, str]] = {}
    lingering = set() if choice is None else _lingering(planner, choice, max(peak, keeper.budget or 0), places)
    for number, pack, value in places:
        action = actions[value]
        if value in lingering:
            action = LINGER
        packs.setdefault(number, {})[pack] = action
    for number, found in packs.items():
        steps[number].packs = tuple(found.get(pack, HOLD) for pack in range(max(found) + 1))
    dropped = frozenset() if choice is None else choice.dropped
    run = set(closure(list(dropped), lambda value: planner.present(value, dropped)) or ())
    for value in planner.bridges(dropped):
        if value.op is not None:
            steps[value.op.number].hold = True
    wanted = _wanted(tape.ops, run, steps, places) | _first(tape.ops)
    for op, step in zip(tape.ops, steps, strict=True):
        step.grad = op.grad
        step.trusted = frozenset(value.slot for value in op.made() if value.trusted).union(
            cast.origin for cast in op.casts if cast.origin and all(value.trusted for value in cast.made())
        )
    return Plan(
        budget=keeper.budget,
        bytes=planner.full,
        peak=peak,
        seconds=0.0 if choice is None else choice.seconds,
        lines=_lines(call, planner, actions),
        steps=steps,
        needed=tuple(op.number in wanted for op in tape.ops),
        possible=tuple(op.number in wanted or not _needs_more(op) for op in tape.ops),
        log=tuple(tape.log),
        reserve=planner.reserve(lean=True),
        room=room,
        lean=choice is not None and choice.lean,
        splits={} if choice is None else choice.splits,
        native=call.native,
        results=call.result_bytes,
        names=tuple(call.names),
        given=call.given,
        anchors=frozenset((n, p) for n, p, value in places if planner.anchor(value)),
    )


def _lingering(planner: Planner, choice: Choice, most: int, places: list[Place]) -> set[Value]:
    """See NOTE [ Settling ] 3: of the last segment, what the first pass reads first, as far as there is room."""
    gone = [(number, value) for number, _, value in places if value in choice.dropped and value not in choice.cheap]
    found: set[Value] = set()
    if not gone:
        return found
    _, last = max(gone, key=lambda place: place[0])
    room = most - planner.outlay(choice, last.segment) - planner.cached(choice.dropped)
    for _, value in sorted(gone, key=lambda place: -place[0]):
        if value in found or value.segment != last.segment:
            continue
        room -= value.nbytes
        if room < 0:
            break
        found.add(value)
    return found


def _wanted(ops: list[Op], run: set[Op], steps: list[Step], places: list[Place]) -> set[int]:
    """The operations that must be written down: see NOTE [ Settling ] 4."""
    found = {op.number for op in run}
    found |= {number for number, step in enumerate(steps) if step.hold or any(a is not HOLD for a in step.packs)}
    producer = {value: op.number for op in ops for value in op.made()}
    savers: dict[Value, set[int]] = {}
    for number, _, value in places:
        savers.setdefault(value, set()).add(number)
    for op in run:
        for value in op.needs():
            if op.number in savers.get(value, ()):
                continue  # its own node saves it: that is enough to know it by
            if value in producer:
                found.add(producer[value])
            if value in savers:
                found.add(min(savers[value]))
    return found


def _first(ops: list[Op]) -> set[int]:
    """The operations with which histories begin. What they save holds the call, as long as anything of it is alive."""
    found: set[int] = set()
    anchored: set[Value] = set()
    for op in ops:
        if not any(ref.value in anchored for ref in op.inputs if ref.requires_grad):
            if not op.packs:
                continue
            found.add(op.number)
        anchored.update(op.made())
    return found


def _lines(call: Call, planner: Planner, actions: dict[Value, str]) -> tuple[PlanLine, ...]:
    found: dict[str, list[int]] = {}
    column = {HOLD: 0, BITS: 1, CHEAP: 1, DROP: 2, HOST: 3}
    for value, action in actions.items():
        if value.kind in (GIVEN, PARAMETER) and not value.counted:
            continue
        name = call.names[value.segment] if value.segment < len(call.names) else ""
        found.setdefault(name, [0, 0, 0, 0])[column[action]] += value.counted
    return tuple(PlanLine(name, *sizes) for name, sizes in found.items())


def _number(value: Value) -> int:
    return 0 if value.op is None else value.op.number
