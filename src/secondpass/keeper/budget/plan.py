# SPDX-License-Identifier: BSD-3-Clause
"""What was decided about a forward: for the forwards that follow it, and for the user to read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..recompute.tape import UNSEEN, Script, Step
from .size import readable

__all__ = ["Plan", "PlanLine", "Plans"]


@dataclass(frozen=True)
class PlanLine:
    """One unit: where its saved tensors will be, in bytes."""

    unit: str
    held: int
    """Held on the device for all passes."""
    made_again: int
    """Computed when they are read, without a matrix product."""
    recomputed: int
    """Computed when they are read, with matrix products."""
    offloaded: int
    """On the host."""


@dataclass(frozen=True)
class Plan:
    """What is held, computed again and offloaded within a budget, and what that is expected to cost."""

    budget: int | None
    bytes: int
    """All saved tensors: what retain_graph=True holds."""
    peak: int
    """The most bytes that are expected to be alive at once, gradients on their way through a unit included."""
    seconds: float
    """The time that computing again is expected to add to each pass."""
    lines: tuple[PlanLine, ...]
    steps: Sequence[Step] = field(repr=False, default=())
    needed: Sequence[bool] = field(repr=False, default=())
    """Which steps the plan will want to run again."""
    possible: Sequence[bool] = field(repr=False, default=())
    """Which steps can be run again without holding more for it."""
    log: Sequence[Any] = field(repr=False, default=())
    """Each operation's function, and the shape of its result: what the plan was made for."""
    reserve: int = field(repr=False, default=0)
    room: int = field(repr=False, default=0)
    """For copies on their way to the host and back, as a part of the peak."""
    lean: bool = field(repr=False, default=False)
    splits: dict[int, int] = field(repr=False, default_factory=dict)
    results: int = field(repr=False, default=0)
    """Bytes of results that no node has saved."""
    native: int = field(repr=False, default=0)
    """Bytes that PyTorch's own nodes hold."""
    names: Sequence[str] = field(repr=False, default=())
    """Of the segments."""
    given: Sequence[Any] = field(repr=False, default=())
    """The shapes of the arguments."""
    anchors: frozenset[tuple[int, int]] = field(repr=False, default=frozenset())
    """What other segments are computed from: operation, and number among what it saved."""

    def script(self, optimized: bool) -> Script:
        """See NOTE [ Settling ] 4."""
        return self._needed if optimized else self._possible

    @cached_property
    def _needed(self) -> Script:
        return _script(self.steps, self.needed)

    @cached_property
    def _possible(self) -> Script:
        return _script(self.steps, self.possible)

    @property
    def held(self) -> int:
        return sum(line.held for line in self.lines)

    @property
    def made_again(self) -> int:
        return sum(line.made_again for line in self.lines)

    @property
    def recomputed(self) -> int:
        return sum(line.recomputed for line in self.lines)

    @property
    def offloaded(self) -> int:
        return sum(line.offloaded for line in self.lines)

    def __str__(self) -> str:
        budget = "no budget" if self.budget is None else f"budget {readable(self.budget)}"
        rows = [
            f"plan: {readable(self.held)} held of {readable(self.bytes)}, {budget}; expected: peak "
            f"{readable(self.peak)}, {self.seconds * 1e3:.2f} ms more in each pass"
        ]
        for line in self.lines:
            parts = [
                f"{readable(size)} {words}"
                for size, words in (
                    (line.held, "held"),
                    (line.made_again, "made again"),
                    (line.recomputed, "recomputed"),
                    (line.offloaded, "offloaded"),
                )
                if size
            ]
            rows.append(f"  {line.unit or '(outside of the units)'}: {', '.join(parts) or 'nothing saved'}")
        return "\n".join(rows)


def _script(steps: Sequence[Step], record: Sequence[bool]) -> Script:
    passing = [None if wanted else step.func for step, wanted in zip(steps, record, strict=True)]
    return Script(steps, record, passing)


def _alike(one: Any, other: Any) -> bool:
    return one[0] is other[0] and (one[1] == other[1] or other[1] is UNSEEN)


class Plans:
    """The plans of one kept function: a forward may go different ways (train and eval, lengths of texts)."""

    def __init__(self, most: int = 8) -> None:
        self._plans: OrderedDict[int, Plan] = OrderedDict()
        self._most = most
        self.unknown = False
        """The last forward did what no plan was made for: the next one shall be written down in full."""
        self.last: Plan | None = None

    def __len__(self) -> int:
        return len(self._plans)

    def add(self, plan: Plan) -> None:
        for key, known in self._plans.items():
            if list(known.log) == list(plan.log):
                del self._plans[key]
                break
        self._plans[id(plan)] = plan
        while len(self._plans) > self._most:
            self._plans.popitem(last=False)
        self.last, self.unknown = plan, False

    def first(self, given: Sequence[Any]) -> Plan | None:
        """The one to begin a forward with: of those for arguments of these shapes the last, or the last of all."""
        if self.unknown or not self._plans:
            return None
        plans = list(reversed(self._plans.values()))
        return next((plan for plan in plans if plan.given == given), plans[0])

    def find(self, log: Sequence[Any], func: Any) -> Plan | None:
        """A plan for a forward that began like this, and goes on with this function."""
        count = len(log)
        for key in reversed(self._plans):
            plan = self._plans[key]
            if len(plan.log) > count and (func is None or plan.log[count][0] is func):
                if all(map(_alike, plan.log, log)):
                    self._plans.move_to_end(key)
                    return plan
        self.unknown = True
        return None

    def followed(self, plan: Plan) -> None:
        """A forward did all of what this one was made for."""
        self.last = plan
        if id(plan) in self._plans:
            self._plans.move_to_end(id(plan))

    def clear(self) -> None:
        self._plans.clear()
        self.last, self.unknown = None, False
