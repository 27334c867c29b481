# SPDX-License-Identifier: BSD-3-Clause
"""A baseline: findings that are known and not to be told again.

A finding is known by its code, its file and the text of its line, so that lines above it may come and go.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ...record import Finding, Report
from ..files.sources import decode, read_source

__all__ = ["without", "write"]

_SCHEMA = "secondpass-baseline/1"


def _key(finding: Finding) -> tuple[str, str, str]:
    place = finding.failed
    if place is None:
        return finding.code, "", ""
    line = place.line
    if place.cell is not None:
        source = read_source(place.file)
        lines = source.text.split("\n")
        line += next((first - start for first, cell, start in source.cells or () if cell == place.cell), 0)
    else:
        try:
            lines = decode(Path(place.file).read_bytes()).split("\n")
        except OSError:
            lines = []
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return finding.code, Path(place.file).as_posix(), text


def write(file: Path, report: Report) -> None:
    """Lists the findings of a report."""
    counts = Counter(_key(f) for f in report.findings)
    entries = [{"code": c, "file": f, "text": t, "count": n} for (c, f, t), n in sorted(counts.items())]
    file.write_text(json.dumps({"schema": _SCHEMA, "findings": entries}, indent=1, ensure_ascii=False) + "\n", "utf-8")


def without(file: Path, report: Report) -> Report:
    """The report without the findings that are listed; raises ValueError where the file is not a baseline."""
    try:
        data = json.loads(file.read_text("utf-8"))
        if data["schema"] != _SCHEMA:
            raise ValueError(f"not a baseline of version 1 (schema: {data['schema']!r}, expected {_SCHEMA!r})")
        left = Counter({(e["code"], e["file"], e["text"]): int(e["count"]) for e in data["findings"]})
    except OSError as error:
        raise ValueError(f"cannot be read ({(error.strerror or 'error').lower()})") from None
    except (KeyError, TypeError, json.JSONDecodeError):
        raise ValueError("not a baseline (write one with --update-baseline)") from None
    kept = []
    for finding in report.findings:
        key = _key(finding)
        if left[key] > 0:
            left[key] -= 1
        else:
            kept.append(finding)
    return replace(report, findings=tuple(kept))
