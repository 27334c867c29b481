# SPDX-License-Identifier: BSD-3-Clause
"""Making the buffers of a run again, and proving beforehand that it can be done."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import torch

from ._errors import RepeatError, changed
from ._graph import same_bits, sample, slots
from ._replay import Entry, Inside, Replay, describe
from ._shortcut import Astray, Learn

__all__ = ["recompute", "remember", "verify"]

_SAMPLES = 2


def verify(run: Any) -> bool:
    """Runs the forward again while the buffers are still here: a unit that differs is held, and nothing is lost."""
    if any(not entry.alias and entry.data is None and not run.derived(entry) for entry in run.entries):
        return True  # the check after each recompute has to do

    def compare(number: int, entry: Entry, tensor: torch.Tensor) -> str | None:
        if entry.data is None or entry.alias or same_bits(entry.data, tensor):
            return None
        return f"buffer {number}, {describe(entry)}, has other values"

    learn = Learn()
    differs = Replay(run, compare, whole=True, learn=learn).run()
    if differs is None and learn.site is not None:
        with contextlib.suppress(Astray):
            if Replay(run, compare, whole=True, shortcut=learn.site).run() is None:
                run.unit.shortcut = learn.site
    if differs is not None:
        run.unit.pinned = run.reason = f"its forward is not repeatable ({differs})"
        return False
    run.unit.verified = True
    return True


def recompute(run: Any, numbers: range) -> None:
    """Makes those of the buffers again that are missing."""
    for value, version in run.versions:
        if value._version != version:
            raise changed(f"a parameter or argument of unit `{run.unit.name}`", version, value._version)
    start = time.perf_counter()
    differs = _refill(run, numbers)
    if differs is not None:
        run.drop()
        raise RepeatError(
            f"unit `{run.unit.name}` is not repeatable: when its forward was run again for this pass, {differs}"
            f"{_operation(run)}. "
            f"Make the forward repeatable, or keep it with policy='retain'."
        )
    run.fresh = True
    run.recomputes += 1
    run.frame.recomputed(run, time.perf_counter() - start)


def _refill(run: Any, numbers: range) -> str | None:
    def refill(number: int, entry: Entry, tensor: torch.Tensor) -> str | None:
        if entry.sample is not None and not same_bits(sample(tensor), entry.sample):
            return f"buffer {number}, {describe(entry)}, has other values"
        if entry.data is None and number in run.made and not run.derived(entry):
            entry.data = tensor.detach()
            entry.version = tensor._version
            run.held += entry.nbytes
            run.frame.grew(run, entry.nbytes, again=True)
        return None

    while True:
        run.made = numbers
        try:
            return Replay(run, refill, shortcut=run.unit.shortcut).run()
        except Astray:
            run.unit.shortcut = None
        except Inside:
            run.unit.reads_inside = True
        run.drop()


def remember(run: Any) -> None:
    """Before the buffers go: a few values of the largest and the last ones, so that a forward that differs is noticed.

    Only on the CPU: on a GPU each comparison would make the host wait for the device.
    """
    known = [e for e in run.entries if e.data is not None and not e.alias and e.nbytes and e.data.is_floating_point()]
    known = [entry for entry in known if entry.data.device.type == "cpu" and not run.derived(entry)]
    for entry in (*sorted(known, key=lambda entry: entry.nbytes)[-_SAMPLES:], *known[-_SAMPLES:]):
        entry.sample = sample(entry.data).clone()


def _operation(run: Any) -> str:
    """The operation of the first forward at whose buffer the second one went another way."""
    for node in run.frame.nodes():
        for _, _, handle in slots(node):
            if run.number(handle) == run.parted:
                return f" (the one that {node.name()} saved)"
    return ""
