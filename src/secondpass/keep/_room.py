# SPDX-License-Identifier: BSD-3-Clause
"""Keeping one call within the budget: while its forward runs, and once all sizes are known."""

from __future__ import annotations

from typing import Any, NoReturn

from ._budget import readable
from ._errors import BudgetError
from ._graph import node_of, walk
from ._late import built_between, weigh
from ._plan import Choice, Cost, Lean, choose, choose_lean, least, needed, send, travelling
from ._run import FAST, FULL, HALVES, SLIM, Fate, Run

__all__ = ["make_room", "settle_budget"]

_STEPS = 16  # in which a unit of many layers may be made leaner


def make_room(frame: Any, running: Run) -> None:
    """While a forward runs whose sizes are not known: other runs give way before the budget is passed."""
    budget = frame.keeper.budget - frame.beside()
    if frame.busy or frame.held + frame.fixed() + frame.keeper.others(frame) <= budget:
        return
    frame.busy = True
    try:
        frame.keeper.press(frame)
        for run in frame.live():
            if frame.held + frame.fixed() + frame.keeper.others(frame) <= budget:
                break
            if run is not running and run.mode == "retain":
                run.slim_down()
        for run in frame.live():
            if frame.held + frame.fixed() + frame.keeper.others(frame) <= budget:
                break
            if run is not running and run.mode == "retain" and run.evictable():
                run.evict("to make room for the units after it")
    finally:
        frame.busy = False


def settle_budget(frame: Any) -> None:
    """After the forward, with all sizes known: what stays for the passes?"""
    budget = frame.keeper.budget
    if budget is None or frame.finished:
        return
    runs = frame.live()
    if frame.follows:
        frame.glue = frame.keeper.glue
    if frame.glue is None:
        inside = built_between(frame.start, frame.end)
        nodes = walk([node_of(value) for value in (a() for a in frame.anchors) if value is not None], inside)
        frame.glue = weigh(nodes, frame.own_memory() | set(frame.boundary))
    if frame.keeper.policy == "offload":
        _settle_offload(frame, runs, budget)
        return
    while True:
        others = frame.keeper.others(frame)
        if others and _need(frame, runs) > budget - others:
            frame.keeper.press(frame)
            others = frame.keeper.others(frame)
        if frame.follows:
            known = (sum(run.mode == "recompute" for run in runs), frame.held + frame.fixed())
            if (not others and known == frame.keeper.known) or _need(frame, runs) <= budget - others:
                frame.keeper.known = known
                return  # as planned: what the plan let go is gone, so another choice could only lose
        for level in (FULL, FAST, SLIM, HALVES):
            costs, fixed = _costs(frame, runs, level), _fixed(frame, level)
            held = choose(costs, fixed, budget - others)
            if level == FAST and held is not None and len(held) == len(runs):
                fixed = _fixed(frame, SLIM)  # nothing is made again, so nothing leaves its place to derived buffers
                held = choose(costs, fixed, budget - others)
            lean = _lean(frame, runs, costs, held, level, budget - others)
            if lean is not None:
                held = lean.held
            if held is not None and (level != FULL or len(held) == len(runs)):
                break
        if held is None:
            _refuse(frame, least(costs, fixed) + others)
        every = len(held) == len(runs) and lean is None
        whole = _whole(runs, costs, budget - others - needed(costs, held, fixed)) if every else set()
        without = [lean.ways[i].left_out if lean is not None and i in held else frozenset() for i in range(len(runs))]
        for index, run in enumerate(runs):
            if level != FULL and index not in whole:
                run.slim_down()
            if without[index] != run.left_out and run.mode == "retain":
                run.leave_out(without[index])
        over = [run for index, run in enumerate(runs) if index not in held and run.mode == "retain" and run.held]
        if all(run.evict("over the budget") for run in over) and costs == _costs(frame, runs, level):
            break  # otherwise one turned out to be pinned, or not to be slimmed: plan once more with that known
    for index, run in enumerate(runs):
        if index not in held and run.mode == "recompute":
            run.cut_down(level)
    if not others:
        frame.keeper.glue = frame.glue
        fates = [Fate("retain" if i in held else "recompute", level, without[i] or None) for i in range(len(runs))]
        fates = [fate._replace(level=FULL) if index in whole else fate for index, fate in enumerate(fates)]
        frame.keeper.learn_plan(frame, fates)


def _whole(runs: list[Run], costs: list[Cost], spare: int) -> set[int]:
    """The runs for whose derived buffers there is room, where others are held without theirs."""
    more = [run.bytes - cost.bytes for run, cost in zip(runs, costs, strict=True)]
    spare -= max(more, default=0)  # each has all of them while its forward runs
    found = set()
    for index, size in enumerate(more):
        if size <= spare:
            found.add(index)
            spare -= size
    return found


def _settle_offload(frame: Any, runs: list[Run], budget: int) -> None:
    """The same where what is over the budget goes to the host."""
    sizes = [run.sizes() for run in runs]
    others = frame.keeper.others(frame)
    if frame.follows:
        level = SLIM if any(run.level != FULL for run in runs) else FULL
        need = _fixed(frame, level) + frame.held + travelling(sizes, [run.away() for run in runs])
        if others and need > budget - others:
            frame.keeper.press(frame)
            others = frame.keeper.others(frame)
        if need <= budget - others:
            return
        for run in runs:
            if run.host is not None:
                run.send_rest()
            elif run.evictable():
                run.evict("over the budget")
    fixed = _fixed(frame, SLIM) + sum(run.bits for run in runs)
    if _fixed(frame, FULL) + sum(run.bytes for run in runs) <= budget - others:
        fates = [Fate("retain", FULL)] * len(runs)
    else:
        sent = send(sizes, fixed, budget - others)
        if sent is None:
            everything = [frozenset(number for number, _ in run) for run in sizes]
            _refuse(frame, fixed + travelling(sizes, everything) + others)
        fates = [Fate("offload" if away else "retain", SLIM, away) for away in sent]
    if not others:
        frame.keeper.glue = frame.glue
        frame.keeper.learn_plan(frame, fates)


def _costs(frame: Any, runs: list[Run], level: str, largest: bool = False) -> list[Cost]:
    """Units of one kind take equally long: the one time that was not disturbed counts."""
    kinds = [(type(run.unit.module), run.bytes) for run in runs]
    times: dict[Any, float] = {}
    rates: dict[Any, dict[int, float]] = {}
    for kind, run in zip(kinds, runs, strict=True):
        times[kind] = min(run.seconds, times.get(kind, run.seconds))
        if level != FULL:
            run.prove(run.products())
            known = rates.setdefault(kind, {})
            for number, rate in run.unit.rates.items():
                known[number] = min(rate, known.get(number, rate))
    return [
        Cost(
            run.bytes if level == FULL else run.bytes_without(frozenset()),
            times[kind],
            run.mode == "retain" and run.unit.pinned is not None,
            run.work(level),
            leaner=() if level == FULL else _leaner(frame, run, rates[kind], level, largest),
            whole=run.bytes,
        )
        for kind, run in zip(kinds, runs, strict=True)
    ]


def _leaner(frame: Any, run: Run, rates: dict[int, float], level: str, largest: bool) -> tuple[Lean, ...]:
    """Ways to hold less of a run: first without what takes the least time for its bytes, or the largest first."""
    sizes = {number: recipe.nbytes for number, recipe in run.products().items() if number in rates}
    order = sorted(sizes, key=(lambda number: -sizes[number]) if largest else rates.__getitem__)
    found = []
    for count in sorted({-(-len(order) * step // _STEPS) for step in range(1, _STEPS + 1)} - {0}):
        out = frozenset(order[:count])
        seconds = sum(rates[number] * sizes[number] for number in out)
        found.append(Lean(run.bytes_without(out), seconds, _waiting(frame, run, out, level), out))
    return tuple(found)


def _waiting(frame: Any, run: Run, left_out: frozenset[int], level: str) -> int:
    """What passes need beside the rest, where results of layers are made for them: see `_fixed`."""
    return run.waiting(left_out) + (frame.derived if level == FAST else 0) if left_out else 0


def _lean(
    frame: Any, runs: list[Run], costs: list[Cost], held: frozenset[int] | None, level: str, budget: int
) -> Choice | None:
    """Is it better to make the results of some layers again than whole units?"""
    if level == FULL or (held is not None and len(held) == len(costs)) or not any(cost.leaner for cost in costs):
        return None
    forward = frame.fixed() + frame.largest + 2 * frame.edge  # as `beside` will have it
    tried = [
        choose_lean(some, _fixed(frame, level), forward, budget) for some in (costs, _costs(frame, runs, level, True))
    ]
    best = min((choice for choice in tried if choice is not None), key=lambda choice: choice.seconds, default=None)
    if best is None or held is None:
        return best
    without = sum(cost.seconds for index, cost in enumerate(costs) if index not in held)
    return best if best.seconds < without else None


def _fixed(frame: Any, level: str) -> int:
    """What stands beside the units: where one of them is made again in full, a derived buffer fits in its place."""
    return frame.fixed() + frame.reserve(slim=level in (SLIM, HALVES))


def _need(frame: Any, runs: list[Run]) -> int:
    """The most that the passes need as things are."""
    held = frozenset(index for index, run in enumerate(runs) if run.mode == "retain")
    level = next((run.level for run in runs if run.mode != "retain"), SLIM if any(r.slim for r in runs) else FULL)
    costs = [
        Cost(
            run.bytes if level == FULL else run.slim_bytes,
            run.seconds,
            away=run.work(level),
            waiting=_waiting(frame, run, run.left_out, level),
        )
        for run in runs
    ]
    return needed(costs, held, _fixed(frame, level))


def _refuse(frame: Any, smallest: int) -> NoReturn:
    budget = frame.keeper.budget
    frame.finish("the budget cannot be met", for_good=True)
    error = BudgetError(
        f"a budget of {readable(budget)} ({budget} bytes) cannot be met here: the least that can is "
        f"{readable(smallest)} ({smallest} bytes), of which {readable(frame.fixed())} are the arguments of the "
        f"units, what lies between them, the results and the graph, and {readable(frame.reserve())} for gradients on "
        f"their way. "
        f"Raise the budget, or choose smaller units."
    )
    error.least = smallest
    raise error
