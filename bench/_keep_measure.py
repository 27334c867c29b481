# SPDX-License-Identifier: BSD-3-Clause
"""Measuring: time as a ratio, all competitors taking turns, and peaks from outside."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator

import torch

Step = Callable[[], None]


def say(words: str) -> None:
    """Progress, beside the figures."""
    print(words, file=sys.stderr, flush=True)


class _Malloc(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
    ]


def _allocated() -> int:
    info = _mallinfo()
    return info.uordblks + info.hblkhd


with contextlib.suppress(AttributeError, OSError):
    _mallinfo = ctypes.CDLL(None).mallinfo2
    _mallinfo.restype = _Malloc


@contextlib.contextmanager
def peak(device: str) -> Iterator[list[int]]:
    """The most bytes allocated meanwhile, above what was allocated before."""
    gc.collect()
    found = [0]
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        yield found
        torch.cuda.synchronize()
        found[0] = torch.cuda.max_memory_allocated() - before
        return
    done, before = threading.Event(), _allocated()

    def sample() -> None:
        while not done.is_set():
            found[0] = max(found[0], _allocated() - before)
            time.sleep(0.0001)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def clock(device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    # Others may share the machine: the work of one thread is known without them, that of several is not.
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def race(
    steps: dict[str, Step], device: str, rounds: int, base: str, warm: int = 0, until: float = float("inf")
) -> dict[str, tuple[float, float]]:
    """For each competitor the median ratio to the base, and the median seconds.

    All take turns, each right after the base: a machine that others use is slow for seconds, and then fast again.
    """
    for step in steps.values():
        for _ in range(warm):
            step()
    times: dict[str, list[float]] = {name: [] for name in steps}
    ratios: dict[str, list[float]] = {name: [] for name in steps}
    names = [name for name in steps if name != base]
    for number in range(rounds):
        started = time.perf_counter()
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before, after = _seconds(steps[base], device), _seconds(steps[name], device)
            times[base].append(before)
            times[name].append(after)
            ratios[name].append(after / before)
        if time.monotonic() > until:
            say(f"   no time for more than {number + 1} rounds")
            break
        say(f"   round {number + 1} of {rounds} took {time.perf_counter() - started:.1f} s")
    ratios[base] = [1.0]
    return {name: (statistics.median(ratios[name]), statistics.median(times[name])) for name in steps}


def _seconds(step: Step, device: str) -> float:
    start = clock(device)
    step()
    return clock(device) - start


def memory(steps: dict[str, Step], device: str) -> dict[str, int]:
    """The peak of two steps in a row, measured while the names of the loop stay alive."""
    found = {}
    for name, step in steps.items():
        step()
        step()
        with peak(device) as most:
            step()
            step()
        found[name] = most[0]
        say(f"   {name}: {most[0] / 1e6:.0f} MB")
    return found
