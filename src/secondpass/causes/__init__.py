# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong with the life of a graph: one file per cause, its page as docstring.

A cause is a module with a `CODE`, a `TITLE`, its `REMEDIES` (kinds, best first) and one of

- `fits(reuse) -> bool` and `explain(reuse) -> Finding`, with a `RANK`: for passes that met spent history. Every such
  meeting has one cause: the first, by rank, that fits.
- `diagnose(trace) -> findings`: for everything else.

The name of the cause is the name of the file. Nothing here imports torch.
"""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import ModuleType

from ..record import Failure, Finding, Place, Trace
from ._reuse import reuses
from .swallowed_error import swallowed

__all__ = ["CAUSES", "Cause", "diagnose", "find"]

_CAUGHT = 32
"""How many caught failures are explained; a program that catches one at every step has one cause, not thousands."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A kind of mistake."""

    name: str
    code: str
    title: str
    remedies: tuple[str, ...]
    page: str
    module: ModuleType


@cache
def _all() -> dict[str, Cause]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{info.name}")
        name = info.name.replace("_", "-")
        found[name] = Cause(name, module.CODE, module.TITLE, module.REMEDIES, cleandoc(module.__doc__ or ""), module)
    return dict(sorted(found.items(), key=lambda item: item[1].code))


def __getattr__(name: str) -> dict[str, Cause]:
    # Read on first use: the causes import each other's helpers from this package.
    if name == "CAUSES":
        return _all()
    raise AttributeError(name)


def find(word: str) -> Cause | None:
    """The cause with a name or a code."""
    key = word.strip().lower().replace("_", "-")
    return next((c for c in _all().values() if key in (c.name, c.code.lower())), None)


def diagnose(trace: Trace) -> tuple[Finding, ...]:
    """Every finding of a trace, errors first."""
    caught = [f for f in trace.failures if f.swallowed]
    rest = tuple(f for f in trace.failures if not f.swallowed)
    found = _diagnosed(replace(trace, failures=rest))
    return tuple(sorted([*found, *_swallowed(trace, caught)], key=lambda f: f.severity != "error"))


def _swallowed(trace: Trace, caught: list[Failure]) -> list[Finding]:
    """The failures that the program went on after: each explained as if it had not, and counted."""
    found: dict[object, Finding] = {}
    for failure in caught[:_CAUGHT]:
        for finding in _diagnosed(replace(trace, failures=(replace(failure, swallowed=False),))):
            if finding.severity == "error":
                found.setdefault((finding.cause, finding.failed), finding)
    return [swallowed(finding, sum(f.place == finding.failed for f in caught)) for finding in found.values()]


def _diagnosed(trace: Trace) -> list[Finding]:
    causes = _all().values()
    found: list[Finding] = []
    ranked = sorted((c for c in causes if hasattr(c.module, "fits")), key=lambda c: c.module.RANK)
    for reuse in reuses(trace):
        cause = next((c for c in ranked if c.module.fits(reuse)), None)
        if cause is not None:
            found.append(cause.module.explain(reuse))
    for cause in causes:
        if hasattr(cause.module, "diagnose"):
            found += cause.module.diagnose(trace)
    return [f for f in found if not _told(f, found)]


def _told(leak: Finding, found: list[Finding]) -> bool:
    """Whether a leak is history that is walked again: it grows as well, but that has been said."""
    if leak.cause != "graph-leak":
        return False
    others = [f for f in found if f.cause == "silent-reuse"]
    return any(
        (f.carrier and leak.carrier and f.carrier.name == leak.carrier.name) or _line(f.built) == _line(leak.failed)
        for f in others
    )


def _line(place: Place | None) -> tuple[str, int] | None:
    return (place.file, place.line) if place is not None else None
