# SPDX-License-Identifier: BSD-3-Clause
"""`check --with run.json`: what a real run saw confirms findings, adds to them, or withdraws them.

A finding is withdrawn when the run came past its place, at least as often as the fault needs, and saw nothing wrong
there. A finding at a place that the run never came to stays as it is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...record import Finding, Report

__all__ = ["weigh"]


def weigh(report: Report, file: Path) -> Report:
    """The report in the light of a run; raises ValueError where the file is not a report."""
    try:
        run = Report.from_json(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot be read ({type(error).__name__})") from None
    except (json.JSONDecodeError, TypeError, KeyError):
        raise ValueError("is no report (`secondpass run --json FILE PROGRAM` writes one)") from None
    seen = _passes(run)
    findings, notes = [], list(report.notes)
    for finding in report.findings:
        if any(_same(finding, real) for real in run.findings):
            evidence = (
                *finding.evidence,
                {"what": "run", "text": f"confirmed by the run in {file.name}", "run": str(file)},
            )
            findings.append(replace(finding, evidence=evidence))
        elif run.findings or not _came_past(finding, seen):
            findings.append(finding)
        else:
            notes.append(
                f"{finding.failed}: {finding.code} withdrawn, the run in {file.name} came past it without fault"
            )
    return replace(report, findings=tuple(findings), notes=tuple(notes))


def _same(finding: Finding, real: Finding) -> bool:
    if finding.failed is None or real.failed is None:
        return False
    here, there = finding.failed, real.failed
    return (here.line, here.cell) == (there.line, there.cell) and Path(here.file).name == Path(there.file).name


def _passes(run: Report) -> dict[tuple[str, int], int]:
    """How often the run came to each pass: (name of the file, line) -> times."""
    found: dict[tuple[str, int], int] = {}
    sites: Any = run.passes.get("sites") or []
    for site in sites if isinstance(sites, list) else []:
        if isinstance(site, dict) and isinstance(site.get("line"), int):
            found[Path(str(site.get("file", ""))).name, site["line"]] = int(site.get("count", 0))
    return found


def _came_past(finding: Finding, seen: dict[tuple[str, int], int]) -> bool:
    if finding.failed is None or finding.severity != "error":
        return False
    return seen.get((Path(finding.failed.file).name, finding.failed.line), 0) >= 3
