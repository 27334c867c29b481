# SPDX-License-Identifier: BSD-3-Clause
"""Reading one program under every policy, and keeping what all readings agree on.

NOTE [ When a finding is certain ]
1. Everything that a finding rests on was known: see NOTE [ Certain and maybe ] of `graph`.
2. No reading that came as often past the finding's place was without it: whatever the open questions of the program
   are answered with, the finding stands.
3. A reading says nothing against it that had to do, on its way there, without something that the finding's own reading
   has at the same line (an attribute, a key, a name): with those answers the program would have failed.
4. Nothing is said that hangs on a branch which no reading entered that came to it: the program is read again with that
   branch taken.
5. A program that trains nothing with its options' defaults is read with other ones: the first that make it train.
6. That something is never needed must be so whichever options the program is run with, not with their defaults alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import Any

from ..causes import diagnose
from ..record import Finding, Place
from .files.project import Project
from .interpreter.branch_decisions import POLICIES, Answers, Onward, Policy, Site, Ways
from .interpreter.machine import Budget, Exhausted, Machine, Raised
from .interpreter.nodes import Refused
from .interpreter.unfinished_loops import may_change
from .report.denials import Denial, denials
from .report.outcome import Outcome
from .report.trace import trace
from .torch.machine import TorchMachine

__all__ = ["Reading", "read_program"]

Start = Callable[[Machine], Any]


@dataclass
class Reading:
    """What one reading came to."""

    policy: str
    findings: tuple[Finding, ...] = ()
    reached: dict[tuple[str, int], int] = field(default_factory=dict)
    sites: dict[tuple[Place, ...], int] = field(default_factory=dict)
    """The same, by the calls that led there."""
    failed: dict[Place | None, tuple[Place, ...]] = field(default_factory=dict)
    """The calls that led to where it failed."""
    called: set[tuple[str, int]] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    whole: bool = True
    """Whether it came to the program's end, or to a failure."""
    asked: int = 0
    passes: int = 0
    unread: set[Place | None] = field(default_factory=set)
    """Where networks that are not read were called: they may detach their state, or keep one, inside."""
    ran: dict[tuple[str, int], int] = field(default_factory=dict)
    """(file, line) of the statements that ran, and how many others had run before."""
    answers: Answers = field(default_factory=dict)
    ways: Ways = field(default_factory=dict)
    settings: Ways = field(default_factory=dict)
    options: list[Site] = field(default_factory=list)
    """The conditions that options decide which go the other way than with their defaults: NOTE [ When a finding is certain ] 5."""
    optional: bool = False
    """Whether options were read as what their defaults are not."""
    turned: list[list[Site]] = field(default_factory=list)
    """Which conditions were turned in readings that went on from this one."""
    denied: set[Denial] = field(default_factory=set)
    """What was seen that speaks against what may be said of other programs."""
    stepped: bool = False
    """Whether an optimizer made a step."""
    lacks: dict[tuple[str, int, str], int] = field(default_factory=dict)
    """What was not there that should have been: see `Machine.lacks`."""

    @property
    def identities(self) -> set[tuple[Any, ...]]:
        """The findings that it is sure of."""
        return {_identity(f) for f in self.findings if f.sure}

    def taken(self, site: Site) -> set[bool]:
        """Which ways a condition went."""
        way = self.ways.get(site)
        return way.taken if way is not None else set()


_ONWARD = 8
"""How many more readings a finding must outlive, each of which enters branches that none has entered."""

_ALWAYS = frozenset({"SP402"})
"""What must be so whichever options the program is run with: that something is never needed."""

_OPTIONS = 4
"""How many options a finding of that kind must outlive."""

_TURNS = 6
"""How many answers are turned round that made a program raise an exception of its own."""


def _walk(project: Project, start: Start, policy: Policy, budget: Budget) -> tuple[Machine, bool, bool, bool]:
    """Reads once: the machine, whether nothing was refused, whether it came to an end, whether an exception was it."""
    m = TorchMachine(project, policy, budget)
    try:
        start(m)
    except Refused:
        return m, False, True, False
    except Raised as error:
        over = error.name in ("SystemExit", "KeyboardInterrupt", "StopIteration")
        return m, True, over, not over
    except (Exhausted, RecursionError):
        return m, True, False, False
    return m, True, True, False


def _once(project: Project, start: Start, policy: str, budget: Budget, onward: Onward | None = None) -> Reading:
    given: dict[int, bool] | None = {}
    for _ in range(_TURNS):
        m, ended, whole, raised = _walk(project, start, Policy(policy, given, onward), budget)
        given = m.policy.turned() if raised else None
        if given is None:
            break
    made = Reading(policy, (), m.reached, called=m.called, files=set(m.modules), whole=whole)
    made.asked, made.passes, made.sites = m.policy.asked, len(m.engine.passes), m.sites
    made.failed = {f.place: f.stack for f in m.engine.failures}
    made.unread = {n.place for n in m.engine.nodes if n.given is not None}
    made.answers, made.ways, made.settings = m.policy.answers, m.policy.ways, m.policy.settings
    made.lacks = m.lacks
    made.stepped = any(o.steps for o in m.engine.owners.values())
    if m.hurried:
        m.late.update((file, line) for file, line, _ in islice(m.ran, m.hurried, None))
    for count, (file, line, _) in enumerate(m.ran):
        made.ran.setdefault((file, line), count)
    if m.engine.failures or (whole and m.engine.passes):
        sources = {f: project.text(f) for f in m.modules if project.source(f) is not None}
        seen = trace(m, sources, ended)
        found = diagnose(seen)
        made.denied = denials(seen)
        failed = {f.place for f in m.engine.failures}
        made.findings = tuple(
            f
            for f in found
            if f.failed is not None
            # What is silent is judged by a whole reading; and a place that failed was not silent.
            and (whole or not ended or f.severity == "error")
            # What a network that is not read has saved is not known.
            and not (f.code == "SP110" and (f.failed in failed or f.built in made.unread))
            and not (f.code == "SP402" and f.failed in m.engine.needed)
            # A network that a function was given may be the one whose parameters another does not reach.
            and not (f.code == "SP406" and m.guessing and made.unread)
            # What is silent rests on all that a forward does, not on one turn of each loop in it.
            and not (f.severity != "error" and (m.brief or may_change(m, f) or _is_late(m, f)))
        )
    return made


def _is_late(m: Machine, finding: Finding) -> bool:
    """Whether a finding rests on turns before which others were left out."""
    return finding.code != "SP401" and finding.failed is not None and _site(finding.failed) in m.late


def read_program(project: Project, start: Start, budget: Budget) -> Outcome:
    """The findings that are certain, the functions that were entered, the files that were looked into, and what speaks
    against what may be said of other programs."""
    readings: list[Reading] = []
    for policy in POLICIES:
        if readings and not readings[0].asked:
            break
        if len(readings) == 2 and not any(r.findings for r in readings):
            break
        readings.append(_once(project, start, policy, budget))
    if not any(r.passes for r in readings):
        readings += _trained(project, start, budget, readings[:2])
    certain = _certain(readings)
    for _ in range(_ONWARD):
        onward = _onward(readings, certain)
        if onward is None:
            break
        base, further = onward
        readings.append(replace(_once(project, start, base.policy, budget, further), options=base.options))
        certain = _certain(readings)
    for base, options in _optional(certain):
        readings.append(replace(_once(project, start, base.policy, budget, options), optional=True))
        certain = _certain(readings)
    # A reading that was cut off before it came to a pass says nothing of the functions that it was in: they are read again.
    called = set().union(*(r.called for r in readings if r.whole or r.passes))
    findings = [_qualified(*found) for found in certain.values()]
    files, denied = (set().union(*(getattr(r, what) for r in readings)) for what in ("files", "denied"))
    return Outcome(findings, [], called, files, denied)


def _trained(project: Project, start: Start, budget: Budget, defaults: list[Reading]) -> list[Reading]:
    """The readings of a program with the options set that make it train, where their defaults do not."""
    base = defaults[0]
    idle = [site for site, way in base.settings.items() if way.leads - way.taken]
    single = list(_by_option(base, idle).values())
    for options in ([idle] if len(single) > 1 else []) + single[:_OPTIONS]:
        made: list[Reading] = []
        for other in defaults:
            known = [s for s in options if s in other.settings]
            onward = Onward(other.answers, {**other.ways, **other.settings}, known)
            made.append(replace(_once(project, start, other.policy, budget, onward), options=known))
        if any(r.passes for r in made):
            return made
    return []


def _by_option(reading: Reading, sites: list[Site]) -> dict[Any, list[Site]]:
    """The conditions that each option has a part in deciding."""
    found: dict[Any, list[Site]] = {}
    for site in sites:
        for option in reading.settings[site].parts:
            found.setdefault(option, []).append(site)
    return found


def _certain(readings: list[Reading]) -> dict[tuple[Any, ...], tuple[Finding, Reading]]:
    """The findings that no reading speaks against, each with the first reading that has it."""
    certain: dict[tuple[Any, ...], tuple[Finding, Reading]] = {}
    for reading in (r for r in readings if not r.optional):
        for finding in reading.findings:
            others = (r for r in readings if r is not reading and not (r.optional and finding.code not in _ALWAYS))
            if finding.sure and all(_agrees(finding, reading, other) for other in others):
                certain.setdefault(_identity(finding), (finding, reading))
    return certain


def _onward(
    readings: list[Reading], certain: dict[tuple[Any, ...], tuple[Finding, Reading]]
) -> tuple[Reading, Onward] | None:
    """A reading that has a finding, and how to read on from it to where none that has it has been; None if there is no such
    place left. NOTE [ When a finding is certain ] 4."""
    for identity, (finding, base) in certain.items():
        having = [r for r in readings if identity in r.identities]
        untaken = [s for s, way in base.ways.items() if way.leads - set().union(*(r.taken(s) for r in having))]
        # Bodies first, then what follows `else`. Should the program never come to the place then, one by one.
        bodies = [s for s in untaken if base.ways[s].taken == {False}]
        others = [s for s in untaken if s not in bodies]
        every = [bodies, others] if not base.turned else [others] if len(base.turned) == 1 else []
        for turned in (*every, *([s] for s in _nearest(untaken, finding.failed))):
            if turned and turned not in base.turned:
                base.turned.append(turned)
                return base, Onward(base.answers, {**base.settings, **base.ways}, [*turned, *base.options])
    return None


def _optional(certain: dict[tuple[Any, ...], tuple[Finding, Reading]]) -> list[tuple[Reading, Onward]]:
    """How to read with options set that are not set by default, one at a time, where that may speak against a finding."""
    found: list[tuple[Reading, Onward]] = []
    for finding, base in certain.values():
        if finding.code not in _ALWAYS:
            continue
        idle = [s for s, w in base.settings.items() if w.leads - w.taken and s not in base.options]
        for turned in list(_by_option(base, _nearest(idle, finding.failed)).values())[:_OPTIONS]:
            found.append((base, Onward(base.answers, {**base.ways, **base.settings}, [*turned, *base.options])))
    return found[: 2 * _OPTIONS]


def _nearest(sites: list[Site], place: Place | None) -> list[Site]:
    """By turns those above a place in its own file, nearest first, and those elsewhere, the last asked first."""
    above = [s for s in sites if place is not None and s[0] == place.file and s[1] <= place.line]
    above.sort(key=lambda s: s[1], reverse=True)
    elsewhere = [s for s in reversed(sites) if place is None or s[0] != place.file]
    pairs = zip_longest(above, elsewhere)
    return [s for pair in pairs for s in pair if s is not None]


def _qualified(finding: Finding, reading: Reading) -> Finding:
    """What rests on the inside of a network that is not read is likely, and its repair nobody's to make unasked."""
    inside = finding.cause in ("carried-state", "stored-history") and finding.built in reading.unread
    if inside or (finding.cause == "needless-retain" and reading.unread):
        return replace(finding, sure=False)
    return finding


def _identity(finding: Finding) -> tuple[Any, ...]:
    where = finding.failed
    return finding.code, where and (where.file, where.line)


def _agrees(finding: Finding, mine: Reading, other: Reading) -> bool:
    """NOTE [ When a finding is certain ] 2."""
    if any(f.sure and _identity(f) == _identity(finding) for f in other.findings) or _is_broken(finding, mine, other):
        return True
    if finding.severity == "error" and any(
        f.failed == finding.failed and f.severity == "error" and f.code != finding.code for f in other.findings
    ):
        return False  # it fails there, but nobody knows why
    if finding.severity != "error" and not other.whole:
        return False  # what is silent shows only in a reading that came to the end
    way = mine.failed.get(finding.failed, ())
    if other.sites.get(way, 0) < mine.sites.get(way, 0):
        return True  # it came to that place, but not in that way
    places = [p for p in (finding.failed, finding.used, finding.freed) if p is not None]
    sites = [s for p in places if (s := _site(p)) in mine.reached]
    if finding.cause == "unreached-parameter":
        return not other.stepped or finding.failed is None or _site(finding.failed) not in other.ran
    if not sites:
        return other.passes < mine.passes
    return any(other.reached.get(s, 0) < mine.reached[s] for s in sites)


def _is_broken(finding: Finding, mine: Reading, other: Reading) -> bool:
    """NOTE [ When a finding is certain ] 3."""
    there = other.ran.get(_site(finding.failed), -1) if finding.failed is not None else -1
    return any(
        (file, line) in mine.ran and (file, line, name) not in mine.lacks and before <= there
        for (file, line, name), before in other.lacks.items()
    )


def _site(place: Place) -> tuple[str, int]:
    return place.file, place.line
