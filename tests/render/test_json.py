# SPDX-License-Identifier: BSD-3-Clause
"""The published schema says what the record writes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from secondpass.record import Report
from secondpass.render import json as json_renderer
from secondpass.render.schema import schema

from . import made

PUBLISHED = Path(__file__).parents[2] / "docs" / "schema" / "secondpass-1.json"
REPORT = Report(findings=tuple(made.ALL.values()), tool={"name": "secondpass"}, notes=("one",))


def test_the_published_schema_is_the_record():
    assert json.loads(PUBLISHED.read_text()) == schema(), "python -m secondpass.render.schema > docs/schema/..."


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(schema())


def test_reports_are_valid_and_come_back():
    written = json_renderer.render(REPORT)
    jsonschema.validate(json.loads(written), schema())
    assert Report.from_json(written) == REPORT


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.update(schema="secondpass/2"),
        lambda report: report.pop("findings"),
        lambda report: report["findings"][0].update(severity="bad"),
        lambda report: report["findings"][0].update(code="103"),
        lambda report: report["findings"][0]["failed"].update(line="9"),
        lambda report: report["findings"][0]["remedies"][0].pop("edits"),
        lambda report: report["findings"][0]["remedies"][0]["proof"].update(status="perhaps"),
    ],
)
def test_what_is_wrong_is_refused(spoil):
    report = json.loads(json_renderer.render(REPORT))
    spoil(report)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema())


def test_what_is_new_is_allowed():
    report = json.loads(json_renderer.render(REPORT))
    report["new"] = report["findings"][0]["new"] = 1
    jsonschema.validate(report, schema())
