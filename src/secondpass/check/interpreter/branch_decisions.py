# SPDX-License-Identifier: BSD-3-Clause
"""Which way to go where a condition cannot be told.

A program is read several times. Each reading has a policy that answers every open question; the same question gets the
same answer throughout one reading. A finding counts when no reading that came past its place was without it.

Answers that made the program raise an exception are not those that its author runs it with: see `Policy.turned`.

A number that is drawn anew each time is no one question: where it is compared in a loop, it is on this side in one turn and
on the other in the next, in every reading. So is one that comes out of a tensor which was computed in the turn under way: all
that is asked of such numbers in one turn is answered alike, and otherwise in the next.

Four fixed ways to answer leave branches that none of them enters. Where something is found, the program is read again with
the answers of the reading that found it, save where a branch was never taken: there that one is. See `Onward`.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

__all__ = ["POLICIES", "Answers", "Onward", "Policy", "Site", "Ways"]

Answers = dict[Any, bool]
Site = tuple[str, int, int]
"""(file, line, column) of a condition."""


class Way:
    """Which ways a condition went that could not be told, and the questions that it consists of."""

    __slots__ = ("leads", "parts", "taken")

    def __init__(self) -> None:
        self.taken: set[bool] = set()
        self.leads: set[bool] = set()
        """The answers with which statements are entered."""
        self.parts: dict[Any, bool] = {}


Ways = dict[Site, Way]


class Onward:
    """How to read a program again: with these answers, but on the other way at some conditions."""

    def __init__(self, answers: Answers, ways: Ways, turned: list[Site]) -> None:
        self.aims = {site: not next(iter(ways[site].taken)) for site in turned}
        self.answers = dict(answers)
        for site, aim in self.aims.items():
            self.answers.update((key, aim == straight) for key, straight in ways[site].parts.items())


class Policy:
    """Answers open questions: always no, always yes, or mixed by the question's own text."""

    def __init__(self, name: str, given: dict[int, bool] | None = None, onward: Onward | None = None) -> None:
        self.name = name
        self._onward = onward or Onward({}, {}, [])
        self.site: Site | None = None
        """The condition that is being looked at."""
        self.ways: Ways = {}
        self.settings: Ways = {}
        """The conditions that options decide, with their defaults."""
        self.asked = 0
        self.answers: dict[Any, bool] = {}
        self.equal: dict[Any, Any] = {}
        """What unknown values were said to be equal to: nothing else."""
        self.given = given or {}
        """Which question, in the order in which they come up, is answered how."""
        self._thrown: dict[Site | None, bool] = {}
        """How the last draw fell that a condition was decided by."""
        self._free: list[tuple[int, bool]] = []
        """The questions that could have been answered otherwise, and their answers."""

    def went(self, site: Site, answer: bool, leads: set[bool]) -> None:
        """Notes which way a condition went that could not be told, and which ways lead to statements."""
        way = self.ways.setdefault(site, Way())
        way.taken.add(answer)
        way.leads = leads

    def decided(self, site: Site, answer: bool, leads: set[bool], options: list[str]) -> bool:
        """Which way a condition goes that options of the program decide: as their defaults say, or the other way."""
        way = self.settings.setdefault(site, Way())
        way.taken.add(answer)
        way.leads = leads
        way.parts.update(dict.fromkeys(options, True))
        return self._onward.aims.get(site, answer)

    def aim(self) -> bool | None:
        """The way that is to be taken at the condition that is being looked at, if it is one of those to be turned."""
        return None if self.site is None else self._onward.aims.get(self.site)

    def asks(self, key: Any, straight: bool) -> None:
        """Notes a question that the condition consists of, and whether yes to it is a yes to that."""
        if self.site is not None:
            self.ways.setdefault(self.site, Way()).parts[key] = straight

    def answer(self, key: Any, lean: bool | None = None) -> bool:
        """The answer to one question; `lean` is the only way that leads on."""
        found = self.answers.get(key)
        if found is None:
            self.asked += 1
            found = self.answers[key] = self._new(key, lean)
            if found and _is_equality(key):
                self.equal[key[1]] = key[2]
        return found

    def _new(self, key: Any, lean: bool | None) -> bool:
        if self.asked in self.given:
            return self.given[self.asked]
        if _is_equality(key) and self.equal.get(key[1], key[2]) != key[2]:
            return False
        found = self._first(key) if lean is None else lean
        self._free.append((self.asked, found))
        return found

    def turned(self) -> dict[int, bool] | None:
        """What to answer instead, where the last free answer led into an exception."""
        if not self._free:
            return None
        last, answer = self._free[-1]
        return {**self.given, last: not answer}

    def _first(self, key: Any) -> bool:
        if key in self._onward.answers:
            return self._onward.answers[key]
        if isinstance(key, tuple) and key[:1] == ("thrown",):  # thrown again and again, it falls both ways
            self._thrown[self.site] = not self._thrown.get(self.site, self.name == "no")
            return self._thrown[self.site]
        if isinstance(key, tuple) and key[:1] == ("by turns",):
            return bool(key[1]) != (self.name == "no")
        if self.name in ("no", "yes"):
            return self.name == "yes"
        # Numbers of values follow the order of reading, so mixed answers are the same in every run.
        return bool(crc32(repr((key, self.asked)).encode()) & 4) == (self.name == "mixed")


POLICIES = ("no", "yes", "mixed", "other")


def _is_equality(key: Any) -> bool:
    """Whether a question is whether an unknown value is a certain known one."""
    return isinstance(key, tuple) and key[:1] == ("is",)
