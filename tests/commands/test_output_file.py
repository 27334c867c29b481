# SPDX-License-Identifier: BSD-3-Clause
"""Files that commands are told to write are looked at before anything runs, and no program is written over."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from secondpass.commands import main
from secondpass.commands._output_file import ranked

OPTIONS = [
    ("run", "--json"),
    ("run", "--trace"),
    ("run", "--page"),
    ("see", "--out"),
    ("see", "--trace"),
    ("fix", "--json"),
    ("check", "--json"),
    ("check", "--output-file"),
]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("nowhere/out.json", "is no folder"),
        ("train.py", "it would take the place of a program"),
        ("other.ipynb", "it would take the place of a program"),
        ("folder", "is a directory"),
    ],
)
def test_what_cannot_or_must_not_be_written(command, option, file, reason, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "train.py").write_text("raise SystemError('this ran')\n")
    done = CliRunner().invoke(main, [command, option, file, "train.py"])
    assert done.exit_code == 2
    assert reason in done.output
    assert (tmp_path / "train.py").read_text() == "raise SystemError('this ran')\n"


def test_what_is_there_and_can_be_written(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "out.json").write_text("old")
    assert CliRunner().invoke(main, ["check", "--json", "out.json", "a.py"]).exit_code == 0
    assert (tmp_path / "out.json").read_text().startswith("{")


def test_a_rank_has_a_file_of_its_own_and_a_page_stays_a_page(monkeypatch):
    monkeypatch.setattr("secondpass.commands._output_file.rank", lambda: 3)
    assert (ranked("out/report.json"), ranked("my.page.html")) == ("out/report.json.rank3", "my.page.rank3.html")
    monkeypatch.setattr("secondpass.commands._output_file.rank", lambda: None)
    assert ranked("page.html") == "page.html"
