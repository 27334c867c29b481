# SPDX-License-Identifier: BSD-3-Clause
"""Does a repaired program still train what the broken one was meant to train?

NOTE [ Cover ]
1. A window is what one optimizer gets from one of its steps to the next: the parameters behind the roots of the passes in
   between, and those that had a gradient when it stepped. The window in which the program failed has no step.
2. What the broken program's steps used, and what the roots of its failing window reach, is what its author meant to train.
   The same window of the repaired program must use all of it: gradients that arrive and are cleared again do not count.
3. A root of the broken program may reach more than it should (another player's network): that player's own passes fall into
   the same window of that player, so nothing is asked in vain, unless it never steps: then it is not asked.
4. A state that is cut may lead to a parameter that only its first iteration reaches (a learned initial state): where a state
   is detached, one later window that uses the parameter is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .run import Run

__all__ = ["untrained"]


@dataclass
class _Window:
    reached: set[int] = field(default_factory=set)
    used: set[int] | None = None
    """None where the program did not come to the step."""


def _windows(run: Run) -> dict[int, list[_Window]]:
    found: dict[int, list[_Window]] = {}
    for line in run.lines:
        if line["what"] == "pass":
            for optimizer, parameter in line.get("behind", ()):
                found.setdefault(optimizer, [_Window()])[-1].reached.add(parameter)
        elif line["what"] == "step" and line.get("optimizer", -1) >= 0:
            windows = found.setdefault(line["optimizer"], [_Window()])
            windows[-1].used = set(line["had"])
            windows.append(_Window())
    return found


def untrained(before: Run, after: Run, *, failed: bool, cut: bool) -> str:
    """What the repaired program no longer trains, in words; "" if nothing is lost.

    :param failed: whether the broken program failed (then its last windows are not complete)
    :param cut: whether the repair cuts off a state that iterations hand on
    """
    then, now = _windows(before), _windows(after)
    for optimizer, old in then.items():
        new = [w for w in now.get(optimizer, []) if w.used is not None]
        if not new:
            # It never steps; but it may have stepped before the repair.
            if any(w.used for w in old):
                return f"optimizer {optimizer + 1} does not step any more"
            continue
        used = set().union(*(w.used or set() for w in new))
        if not failed:
            lost = set().union(*(w.used or set() for w in old)) - used
        else:
            lost = set()
            for k, window in enumerate(old):
                wanted = window.reached if window.used is None else window.reached & window.used
                if k >= len(new):
                    given = used  # the program ends before that step
                else:
                    given = set().union(*(w.used or set() for w in (new[k:] if cut else new[k : k + 1])))
                lost |= wanted - given
        if lost:
            many = f"{len(lost)} of the parameters" if len(lost) > 1 else "a parameter"
            return f"{many} of optimizer {optimizer + 1} would not be trained any more"
    return ""
