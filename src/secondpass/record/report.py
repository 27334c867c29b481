# SPDX-License-Identifier: BSD-3-Clause
"""What a command has to say: the findings of one program, with what they rest on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ._json import from_plain, to_plain
from .finding import Finding, html_of

__all__ = ["SCHEMA", "Report"]

SCHEMA = "secondpass/1"


@dataclass(frozen=True, slots=True)
class Report:
    """The JSON contract, version 1."""

    findings: tuple[Finding, ...] = ()
    schema: str = SCHEMA
    tool: dict[str, Any] = field(default_factory=dict)
    program: dict[str, Any] = field(default_factory=dict)
    passes: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a person must know beside the findings (a file that could not be read, a limit that was hit)."""

    def __repr__(self) -> str:
        codes = ", ".join(f.code for f in self.findings)
        return (
            f"<Report: {len(self.findings)} finding{'s' * (len(self.findings) != 1)}{f' ({codes})' if codes else ''}>"
        )

    def _repr_html_(self) -> str | None:
        return html_of(self)

    def to_json(self, indent: int | None = 2) -> str:
        """The report as a JSON text."""
        return json.dumps(to_plain(self), indent=indent, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Reads what `to_json` wrote; raises ValueError on anything else."""
        data = json.loads(text)
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise ValueError(f"not a secondpass report of version 1 (schema: {schema!r}, expected {SCHEMA!r})")
        return from_plain(cls, data)
