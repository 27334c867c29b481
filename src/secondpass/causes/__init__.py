# SPDX-License-Identifier: BSD-3-Clause
"""What goes wrong with the life of a graph: one file per cause, its page as docstring.

A cause is a module with a `CODE`, a `TITLE`, its `REMEDIES` (kinds, best first) and one of

- `explain(meeting) -> Finding`: for passes that met freed history. Which cause a meeting has, the table of `rules` decides.
- `diagnose(trace) -> findings`: for everything else.

Where PyTorch raises something, `MESSAGES` has the words of its message by which people look it up (those that `explain` a
meeting share theirs). A cause that says the same as another, better, names it in `TELLS_FOR`: where both point at one
thing, the other is silent.

The name of the cause is the name of the file. Nothing here imports torch.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import ModuleType

from ..record import Failure, Finding, Place, Trace
from .facts.meeting import meetings
from .rules import decide
from .swallowed_error import swallowed

__all__ = ["CAUSES", "Cause", "behind", "diagnose", "find", "merged"]

_SECOND = (
    "Trying to backward through the graph a second time",
    "access saved tensors after they have already been freed",
)
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

    @property
    def tried(self) -> tuple[str, ...]:
        """Kinds of remedies that may be right beyond those that a finding proposes, best first: the proof decides."""
        found: tuple[str, ...] = getattr(self.module, "TRIED", self.remedies)
        return found

    @property
    def instead(self) -> str:
        """What `retain_graph=True` would do: PyTorch's own message proposes it, so everybody asks."""
        return str(getattr(self.module, "INSTEAD", ""))

    @property
    def caused_by(self) -> tuple[str, ...]:
        """Kinds of remedies that bring this cause about where they are the wrong ones."""
        found: tuple[str, ...] = getattr(self.module, "CAUSED_BY", ())
        return found

    @property
    def untrue_after(self) -> tuple[str, ...]:
        """Calls in a branch that was not taken which would make a finding untrue."""
        found: tuple[str, ...] = getattr(self.module, "UNTRUE_AFTER", ())
        return found

    @property
    def changes_nothing(self) -> bool:
        """Whether the right repair leaves every value as it was."""
        return bool(getattr(self.module, "CHANGES_NOTHING", False))

    @property
    def messages(self) -> tuple[str, ...]:
        """Words of PyTorch's own messages behind which this cause may stand."""
        return (*(_SECOND if hasattr(self.module, "explain") else ()), *getattr(self.module, "MESSAGES", ()))

    @property
    def fewer_steps(self) -> bool:
        """Whether the right repair leaves steps out."""
        return bool(getattr(self.module, "FEWER_STEPS", False))


@cache
def _all() -> dict[str, Cause]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        if info.ispkg or info.name.startswith("_") or info.name == "rules":
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
    """The cause with a name or a code, however they are spelled."""
    key = "-".join(word.lower().replace("_", " ").split())
    return next((c for c in _all().values() if key in (c.name, c.code.lower(), c.code[2:])), None)


def behind(message: str) -> list[Cause]:
    """The causes that a message of PyTorch's, or a good part of one (`Trying to backward ...`), may stand for."""
    text = " ".join(message.lower().split()).strip(" .\N{HORIZONTAL ELLIPSIS}")
    words = [(c, " ".join(m.lower().split())) for c in _all().values() for m in c.messages]
    return list({c.code: c for c, m in words if m in text or (len(text) > 10 and text in m)}.values())


def diagnose(trace: Trace) -> tuple[Finding, ...]:
    """Every finding of a trace, errors first."""
    caught = [f for f in trace.failures if f.swallowed]
    rest = tuple(f for f in trace.failures if not f.swallowed)
    lost = _swallowed(trace, caught)
    # What else there is to see comes from the steps that were lost.
    found = [f for f in _diagnosed(replace(trace, failures=rest)) if not lost or f.severity == "error"]
    owners = [o.name for o in trace.owners if o.name and o.alive is not False]
    known = [replace(f, facts={"owners": owners, **f.facts}) if owners else f for f in (*found, *lost)]
    return tuple(sorted(known, key=lambda f: f.severity != "error"))


def merged(findings: dict[int, Finding], waiting: Sequence[str] = ()) -> Finding | None:
    """One finding for those that several ranks have at one place; None where together they say that nothing is wrong.

    A cause whose findings say more together, or with the lines (`file:line`) that other ranks wait in, has a `merge` of its
    own.
    """
    cause = _all().get(next(iter(findings.values())).cause)
    merge = getattr(cause.module, "merge", None) if cause is not None else None
    found: Finding | None = merge(findings, waiting) if merge is not None else findings[min(findings)]
    return found


def _swallowed(trace: Trace, caught: list[Failure]) -> list[Finding]:
    """The failures that the program went on after: each explained as if it had not, and counted."""
    found: dict[object, Finding] = {}
    for failure in caught[:_CAUGHT]:
        for finding in _diagnosed(replace(trace, failures=(replace(failure, swallowed=False),))):
            if finding.severity == "error":
                found.setdefault((finding.cause, finding.failed), finding)
    return [swallowed(finding, sum(f.place == finding.failed for f in caught)) for finding in found.values()]


def _diagnosed(trace: Trace) -> list[Finding]:
    causes = _all()
    found: list[Finding] = []
    for meeting in meetings(trace):
        found.append(causes[decide(meeting).cause].module.explain(meeting))
    for cause in causes.values():
        if hasattr(cause.module, "diagnose"):
            found += cause.module.diagnose(trace)
    return [f for f in found if not any(_tells(other, f) for other in found)]


def _tells(one: Finding, other: Finding) -> bool:
    """Whether a finding has said what another says: history that is walked again grows as well."""
    if other.cause not in getattr(_all()[one.cause].module, "TELLS_FOR", ()):
        return False
    same = one.carrier is not None and other.carrier is not None and one.carrier.name == other.carrier.name
    return same or _line(one.built) == _line(other.failed)


def _line(place: Place | None) -> tuple[str, int] | None:
    return (place.file, place.line) if place is not None else None
