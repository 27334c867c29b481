# SPDX-License-Identifier: BSD-3-Clause
"""An allocation has failed: what the graphs held at that moment, as observations."""

from __future__ import annotations

import re
from dataclasses import replace

import torch

from ..record import Failure, Kept, Place, Trace
from ..watcher.overwritten import user_frames
from ..watcher.trace import build
from ..watcher.watcher import Watcher
from .ledger_rows import container
from .node_origin import Entry, Origin
from .outdated import Outdated
from .read_graph import Reading, without_collection

__all__ = ["is_out_of_memory", "out_of_memory"]

_WORDS = ("DefaultCPUAllocator: can't allocate memory", "DefaultCPUAllocator: not enough memory")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocation of PyTorch's has failed."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _WORDS)


def out_of_memory(watcher: Watcher, error: BaseException) -> Trace:
    """What was seen until an allocation failed, and what was alive then."""
    frames, places = user_frames(watcher, error.__traceback__)
    with torch._C.DisableTorchFunction(), without_collection():
        reading = Reading(None, frames, watcher)
        kept = tuple(_kept(watcher, reading))
        evaluating, modules = reading.evaluating, reading.modules
        del reading
    trace = build(watcher)
    failure = Failure(
        when=max([*(p.when for p in trace.passes), *(s.when for s in trace.steps)], default=0),
        kind="out-of-memory",
        message=str(error).partition("\n")[0],
        place=places[0] if places else None,
        stack=tuple(places),
        bytes=_asked(str(error)),
        evaluating=evaluating,
        names=modules,
    )
    sources = dict(trace.sources)
    for place in [*places, *(k.place for k in kept if k.place is not None)]:
        sources.setdefault(place.file, watcher.files.text(place.file))
    return replace(trace, failures=(failure,), kept=kept, sources=sources)


def _asked(text: str) -> int | None:
    """How much was asked for: "Tried to allocate 20.00 MiB", "you tried to allocate 400 bytes"."""
    found = re.search(r"tried to allocate ([\d.]+) ?(?:([KMGT])i?B|bytes)", text, re.IGNORECASE)
    return int(float(found[1]) * _UNITS[(found[2] or "").upper()]) if found else None


def _kept(watcher: Watcher, reading: Reading) -> list[Kept]:
    origin = Origin(watcher)
    groups: dict[str, list[Entry]] = {}
    for e in reading.entries:
        if e.kind == "saved" and e.bytes:
            groups.setdefault(container(e.holder) or "", []).append(e)
    retained = {n for p in origin.notes if p.retain for n in p.walked or ()}
    is_outdated = Outdated(watcher, reading)
    found = []
    for holder, entries in groups.items():
        # One holder may have both: what is of the present iteration is not outdated.
        for outdated in (True, False):
            some = [e for e in entries if is_outdated(e.number) is outdated]
            if some:
                found.append(_group(holder, some, outdated, retained, origin, reading))
    return found


def _group(
    holder: str, entries: list[Entry], outdated: bool, retained: set[int], origin: Origin, reading: Reading
) -> Kept:
    lines: dict[Place | None, int] = {}
    for e in entries:
        place = origin.place(e.number)
        lines[place] = lines.get(place, 0) + e.bytes
    lines.pop(None, None)
    iterations = sorted({i[-1] for e in entries if (i := origin.iteration(e.number)) is not None})
    return Kept(
        holder=holder,
        bytes=sum(e.bytes for e in entries),
        count=len(entries),
        outdated=outdated,
        collected=any((e.holder or "") != holder for e in entries),
        single=reading.single.get(holder),
        retained=bool(retained) and all(e.number in retained for e in entries),
        iterations=tuple(iterations),
        place=max(lines, key=lambda p: lines[p]) if lines else None,
    )
