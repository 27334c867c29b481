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
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import ModuleType

from ..record import Finding, Trace
from ._reuse import reuses

__all__ = ["CAUSES", "Cause", "diagnose", "find"]


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
    return tuple(sorted(found, key=lambda f: f.severity != "error"))
