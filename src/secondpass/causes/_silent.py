# SPDX-License-Identifier: BSD-3-Clause
"""Putting together findings about programs that did not fail."""

from __future__ import annotations

from typing import Any

from ..record import Carrier, Finding, Place, Remedy

__all__ = ["size", "warning"]


def warning(
    code: str,
    cause: str,
    message: str,
    place: Place | None,
    remedies: list[Remedy],
    *,
    carrier: Carrier | None = None,
    evidence: list[dict[str, Any]] | None = None,
    **facts: Any,
) -> Finding:
    """A finding that points at the line to change."""
    built, freed, used = facts.pop("built", None), facts.pop("freed", None), facts.pop("used", None)
    return Finding(
        code,
        cause,
        "warning",
        message,
        place,
        carrier,
        built,
        freed,
        used,
        tuple(evidence or ()),
        tuple(remedies),
        facts=facts,
    )


def size(count: int) -> str:
    """Bytes for people."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"
