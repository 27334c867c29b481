# SPDX-License-Identifier: BSD-3-Clause
"""What was found, and what can be done about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .place import Place

__all__ = ["Carrier", "Edit", "Finding", "Proof", "Remedy", "html_of"]

HTML: list[Callable[[Any], str]] = []
"""How a notebook shows a finding or a report: `render` puts it there, for nothing here knows a renderer."""


def html_of(value: Any) -> str | None:
    """The value as HTML; None where no renderer is loaded."""
    return HTML[0](value) if HTML else None


@dataclass(frozen=True, slots=True)
class Carrier:
    """What brings old history into a new graph, written as in the source."""

    name: str
    kind: str = "local"


@dataclass(frozen=True, slots=True)
class Edit:
    """Whole lines replaced: `old` stands at `line` (1-based) and is replaced by `new`.

    Both hold complete lines joined with newlines, without the last one. An empty `old` inserts before `line`; an empty
    `new` deletes.
    """

    file: str
    line: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What came of running the repaired program."""

    status: str = "not run"
    """`proven`, `refuted` or `not run`."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """One way to repair a finding."""

    kind: str
    title: str
    safe: bool = False
    why: str = ""
    edits: tuple[Edit, ...] = ()
    diff: str = ""
    proof: Proof | None = None
    target: str = ""
    """What the remedy acts on, as the source writes it (`hidden`): where the edit starts from."""
    place: Place | None = None
    """Where it acts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause, seen once, with its evidence."""

    code: str
    cause: str
    severity: str
    message: str
    failed: Place | None = None
    carrier: Carrier | None = None
    built: Place | None = None
    freed: Place | None = None
    used: Place | None = None
    evidence: tuple[dict[str, Any], ...] = ()
    """What was seen: `{"what": "pass", "text": "...", ...}`; `text` is for people, the rest for machines."""
    remedies: tuple[Remedy, ...] = ()
    sure: bool = True
    """False where a part of it is a guess; the evidence says which."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the remedies need beyond the places, by name (documented in `causes`)."""

    def __repr__(self) -> str:
        where = f" at {self.failed.where}" if self.failed is not None else ""
        return f"<Finding {self.code} {self.cause}{where}>"

    def _repr_html_(self) -> str | None:
        return html_of(self)
