# SPDX-License-Identifier: BSD-3-Clause
"""A cause is one file: dropped into a folder, it is found, listed, explained, told, silenced and left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from secondpass import causes
from secondpass.causes import diagnose
from secondpass.check.report.suppress import is_silenced, wanted
from secondpass.commands import main
from secondpass.record import Pass, Place, Report, Trace
from secondpass.remedies import attach
from secondpass.render import sarif
from secondpass.render.text import render

TOY = '''
"""A pass was made on a Monday.

## What happened

It was Monday.
"""

from secondpass.causes._finding import remedy, warning

CODE = "SP999"
TITLE = "a pass was made on a Monday"
REMEDIES = ("other",)
INSTEAD = "`retain_graph=True` does not make it Tuesday."


def diagnose(trace):
    found = [p for p in trace.passes if p.place is not None and "monday" in p.place.function]
    wait = remedy("other", "wait a day", "Tuesdays are better.")
    return [warning(CODE, "monday", "This pass was made on a Monday.", p.place, [wait]) for p in found]
'''
TRACE = Trace(passes=(Pass(1, place=Place("train.py", 3, "on_monday")),))


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "monday.py").write_text(TOY, encoding="utf-8")
    monkeypatch.setattr(causes, "__path__", [*causes.__path__, str(tmp_path)])
    causes._all.cache_clear()
    yield
    causes._all.cache_clear()


def call(*words: str) -> str:
    done = CliRunner().invoke(main, list(words), prog_name="secondpass")
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.usefixtures("toy")
def test_a_cause_is_one_file(tmp_path: Path) -> None:
    [finding] = diagnose(TRACE)
    assert (finding.code, finding.cause) == ("SP999", "monday")

    assert "SP999  monday" in call("explain")
    assert "It was Monday." in call("explain", "SP999")
    assert {"code": "SP999", "name": "monday"}.items() <= json.loads(call("explain", "--json"))[-1].items()

    text = render(Report(findings=(finding,)), color=False, width=80)
    assert "SP999 monday: This pass was made on a Monday." in text
    assert "Wait a day" in text
    assert "does not make it Tuesday" in text.replace("\n        ", " ")
    assert (
        json.loads(sarif.render(Report(findings=(finding,))))["runs"][0]["tool"]["driver"]["rules"][0]["id"] == "SP999"
    )

    assert is_silenced(finding, "\n\nloss.backward()  # noqa: SP999\n")
    assert not wanted(finding, ["SP1"], [])
    assert wanted(finding, ["monday"], [])
    assert not wanted(finding, [], ["SP9"])
    assert attach(finding, sources={"train.py": "\n\nloss.backward()\n"}).remedies[0].edits == ()


def test_it_is_gone_with_its_file() -> None:
    assert diagnose(TRACE) == ()
