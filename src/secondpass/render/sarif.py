# SPDX-License-Identifier: BSD-3-Clause
"""SARIF 2.1.0: findings with their way through the code (built, freed, used) and their fixes."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from ..causes import find
from ..record import Edit, Finding, Place, Remedy, Report
from ._notebook import row, told

__all__ = ["render"]

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def render(report: Report) -> str:
    """The log of one run."""
    used = list(dict.fromkeys(f.cause for f in report.findings))
    rules = [_rule(name) for name in used]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "secondpass",
                "version": str(report.tool.get("version", "0")),
                "rules": rules,
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [{"level": "note", "message": {"text": n}} for n in report.notes],
            }
        ],
        "results": [_result(f, used.index(f.cause)) for f in report.findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    cause = find(name)
    if cause is None:
        return {"id": name, "name": name}
    text = cause.title[:1].upper() + cause.title[1:]
    return {
        "id": cause.code,
        "name": "".join(part.title() for part in name.split("-")),
        "shortDescription": {"text": f"{text}."},
        "fullDescription": {"text": f"{text}."},
        "help": {"text": cause.page, "markdown": cause.page},
        "properties": {"tags": ["pytorch", "autograd", name]},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    made: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": "error" if finding.severity == "error" else "warning",
        "message": {"text": told(finding.message, finding.failed)},
        "locations": [_location(finding.failed)] if finding.failed is not None else [],
        "partialFingerprints": {"secondpass/v1": f"{finding.code}:{finding.carrier.name if finding.carrier else ''}"},
    }
    flow = [
        (place, text)
        for place, text in (
            (finding.built, "built here"),
            (finding.freed, "changed here" if finding.code.startswith("SP2") else "freed by this backward"),
            (finding.used, "needed again here"),
        )
        if place is not None
    ]
    if len(flow) > 1:
        steps = [{"location": _location(place, text), "executionOrder": n} for n, (place, text) in enumerate(flow, 1)]
        made["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
        made["relatedLocations"] = [{"id": n, **_location(place, text)} for n, (place, text) in enumerate(flow, 1)]
    fixes = [_fix(r) for r in finding.remedies if r.edits]
    if fixes:
        made["fixes"] = fixes
    return made


def _location(place: Place, text: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(place.file)}, "region": {"startLine": row(place)}}
    }
    if place.function:
        made["logicalLocations"] = [{"name": place.function, "kind": "function"}]
    if text:
        made["message"] = {"text": told(text, place)}
    return made


def _uri(file: str) -> str:
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _fix(remedy: Remedy) -> dict[str, Any]:
    files: dict[str, list[Edit]] = {}
    for edit in remedy.edits:
        files.setdefault(edit.file, []).append(edit)
    return {
        "description": {"text": remedy.title + ("" if remedy.safe else " (may change what the program computes)")},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(file)}, "replacements": [_replacement(e) for e in edits]}
            for file, edits in files.items()
        ],
    }


def _replacement(edit: Edit) -> dict[str, Any]:
    count = len(edit.old.split("\n")) if edit.old else 0
    region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.line + count, "endColumn": 1}
    text = edit.new + "\n" if edit.new else ""
    return {"deletedRegion": region, "insertedContent": {"text": text}}
