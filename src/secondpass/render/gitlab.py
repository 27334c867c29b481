# SPDX-License-Identifier: BSD-3-Clause
"""GitLab's code quality report."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any

from ..record import Finding, Report
from ._notebook import row, told

__all__ = ["render"]


def render(report: Report) -> str:
    """A JSON array with one entry per finding."""
    seen: dict[str, int] = {}
    return json.dumps([_entry(f, seen) for f in report.findings], indent=2, ensure_ascii=False) + "\n"


def _entry(finding: Finding, seen: dict[str, int]) -> dict[str, Any]:
    file = PurePath(finding.failed.file).as_posix() if finding.failed is not None else ""
    line = row(finding.failed) if finding.failed is not None else 1
    # The same finding must keep its fingerprint when lines above it come and go.
    base = f"{finding.code}:{file}:{finding.message}"
    seen[base] = seen.get(base, 0) + 1
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": told(finding.message, finding.failed),
        "categories": ["Bug Risk"],
        "severity": "major" if finding.severity == "error" else "minor",
        "fingerprint": hashlib.sha256(f"{base}:{seen[base]}".encode()).hexdigest()[:32],
        "location": {"path": file, "lines": {"begin": line}},
    }
