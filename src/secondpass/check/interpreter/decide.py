# SPDX-License-Identifier: BSD-3-Clause
"""Which way to go where a condition cannot be told.

A program is read several times. Each reading has a policy that answers every open question; the same question gets the
same answer throughout one reading. A finding counts when no reading that came past its place was without it.
"""

from __future__ import annotations

import re
from typing import Any
from zlib import crc32

_IDENTITY = re.compile(r"\d{9,}")

__all__ = ["POLICIES", "Policy"]


class Policy:
    """Answers open questions: always no, always yes, or mixed by the question's own text."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked = 0
        self.answers: dict[Any, bool] = {}

    def answer(self, key: Any, lean: bool | None = None) -> bool:
        """The answer to one question; `lean` is the only way that leads on."""
        found = self.answers.get(key)
        if found is None:
            self.asked += 1
            found = self.answers[key] = self._first(key) if lean is None else lean
        return found

    def _first(self, key: Any) -> bool:
        if self.name in ("no", "yes"):
            return self.name == "yes"
        # Numbers of unknown values follow the order of reading, so mixed answers are the same in every run. Identities of
        # objects are not, and say nothing.
        text = _IDENTITY.sub("", repr((key, self.asked)))
        return bool(crc32(text.encode()) & 4) == (self.name == "mixed")


POLICIES = ("no", "yes", "mixed", "other")
