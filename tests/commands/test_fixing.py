# SPDX-License-Identifier: BSD-3-Clause
"""`check --fix` writes as `fix --write` does: whole files, taken back together, and refusals are said."""

from __future__ import annotations

from pathlib import Path

import pytest

from secondpass.check import Settings
from secondpass.commands._check_fixes import fix
from secondpass.record import Edit, Finding, Remedy, Report
from secondpass.remedies.edit.write import Refused, undo, write


def report(file: str, *, safe: bool = True) -> Report:
    remedy = Remedy("item", "", safe, edits=(Edit(file, 1, "a = 1", "a = 2"),))
    return Report(findings=(Finding("SP401", "graph-leak", "warning", "", remedies=(remedy,)),))


def test_a_fix_can_be_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("a = 1\n")
    fix(report("a.py"), ["."], Settings(), unsafe=False, write=True)
    assert Path("a.py").read_text() == "a = 2\n"
    assert undo(tmp_path) == ["a.py"]
    assert Path("a.py").read_text() == "a = 1\n"


def test_what_lies_elsewhere_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "a.py").write_text("a = 1\n")
    monkeypatch.chdir(tmp_path / "here")
    fix(report("../a.py"), ["."], Settings(), unsafe=False, write=True)
    assert "lies outside the working directory" in capsys.readouterr().err
    assert (tmp_path / "a.py").read_text() == "a = 1\n"


def test_an_unsafe_one_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("a = 1\n")
    fix(report("a.py", safe=False), ["."], Settings(), unsafe=False, write=True)
    assert Path("a.py").read_text() == "a = 1\n"


def test_several_writes_are_taken_back_together(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    since: dict[Path, bytes] = {}
    write(tmp_path, {"a.py": "x = 1\n"}, {"a.py": "x = 2\n"}, since)
    write(tmp_path, {"a.py": "x = 2\n"}, {"a.py": "x = 3\n"}, since)
    write(tmp_path, {"b.py": "x = 1\n"}, {"b.py": "x = 4\n"}, since)
    assert undo(tmp_path) == ["a.py", "b.py"]
    assert (tmp_path / "a.py").read_text() == (tmp_path / "b.py").read_text() == "x = 1\n"
    with pytest.raises(Refused):
        undo(tmp_path)
