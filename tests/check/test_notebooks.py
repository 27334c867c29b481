# SPDX-License-Identifier: BSD-3-Clause
"""Notebooks: every format tells the cell and the line in it, and quotes the cell's own lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from secondpass.check import Settings, read
from secondpass.commands import main

MAKES = "import torch\nfrom torch import nn\nmemory = torch.zeros(1, 4)\nunit = nn.GRUCell(3, 4)\n"
TRAINS = """\
%time
rule = torch.optim.SGD(unit.parameters(), lr=0.1)
for x in torch.randn(9, 1, 3):
    memory = unit(x, memory)
    rule.zero_grad()
    memory.pow(2).mean().backward()
    rule.step()
"""


def notebook(folder: Path, *cells: tuple[str, str], name: str = "train.ipynb") -> Path:
    made = [{"cell_type": kind, "source": text.splitlines(keepends=True)} for kind, text in cells]
    (folder / name).write_text(json.dumps({"cells": made}))
    return folder / name


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    notebook(tmp_path, ("markdown", "# one\n"), ("code", MAKES), ("raw", "two\nlines\n"), ("code", TRAINS))

    def call(*args: str) -> str:
        return CliRunner().invoke(main, ["check", "--no-cache", *args, "train.ipynb"]).stdout

    return call


def test_concise_names_the_cell_as_ruff_does(told: Any) -> None:
    assert told("--output-format", "concise").startswith("train.ipynb:cell 4:6: SP103 ")


def test_the_excerpt_quotes_the_cell(told: Any) -> None:
    text = told("--output-format", "full")
    assert "--> train.ipynb:cell 4:6\n" in text
    assert "     3 | for x in torch.randn(9, 1, 3):\n" in text
    assert "     6 |     memory.pow(2).mean().backward()\n" in text
    assert "cell 4 line 6" in text


def test_json_has_the_cell(told: Any) -> None:
    [finding] = json.loads(told("--output-format", "json"))["findings"]
    assert finding["failed"] == {"file": "train.ipynb", "line": 6, "function": "<module>", "cell": 4}
    places = [finding["built"], finding["used"], *(e["place"] for e in finding["evidence"] if e.get("place"))]
    assert {p["cell"] for p in places} == {4}


def test_tools_that_know_lines_only_are_told_in_words(told: Any) -> None:
    github = told("--output-format", "github")
    assert ",file=train.ipynb,line=1::" in github
    assert "(cell 4, line 6)" in github
    [entry] = json.loads(told("--output-format", "gitlab"))
    assert entry["location"]["lines"]["begin"] == 1
    assert entry["description"].endswith("(cell 4, line 6)")
    [result] = json.loads(told("--output-format", "sarif"))["runs"][0]["results"]
    assert result["message"]["text"].endswith("(cell 4, line 6)")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 1}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert steps[0]["location"]["message"]["text"] == "built here (cell 4, line 4)"


def test_magics_that_are_assigned_and_those_around_a_cell_of_python(tmp_path: Path) -> None:
    made = notebook(tmp_path, ("code", MAKES + "    \nfiles, n = !ls\n"), ("code", TRAINS.replace("%time", "%%time")))
    assert [(f.code, f.failed.cell) for f in read([made], Settings(jobs=1)).findings if f.failed] == [("SP103", 2)]
    made = notebook(tmp_path, ("code", MAKES), ("code", TRAINS.replace("%time", "%%bash")))
    assert not read([made], Settings(jobs=1)).findings


def test_a_function_of_another_cell_is_quoted_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    turn = "def turn(memory, x):\n    return unit(x, memory)\n"
    rest = TRAINS.replace("unit(x, memory)", "turn(memory, x)")
    notebook(tmp_path, ("code", MAKES), ("code", turn), ("code", rest))
    text = CliRunner().invoke(main, ["check", "--no-cache", "train.ipynb"]).stdout
    assert "--> train.ipynb:cell 2:2 in turn\n" in text
    assert "     2 | return unit(x, memory)\n" in text
    assert "--> train.ipynb:cell 3:6\n" in text


def test_a_cell_that_is_broken_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook(tmp_path, ("code", MAKES), ("markdown", "x\n"), ("code", "a = 1\nloss.backward(\n"), ("code", "b = 2\n"))
    [finding] = read(["train.ipynb"], Settings(jobs=1)).findings
    assert (finding.code, finding.failed and finding.failed.cell) == ("SP000", 3)


@pytest.mark.parametrize(
    "first",
    [
        "pip install torch\n",
        "%pip install a \\\n   b \\\n c\nx = 1\n",
        "if 1:\n    cd ..\n    conda install -y b\n",
        'text = """\npip install torch\n"""\n',
    ],
)
def test_magics_without_a_sign_and_those_of_several_lines(tmp_path: Path, first: str) -> None:
    made = notebook(tmp_path, ("code", first), ("code", MAKES), ("code", TRAINS))
    assert [(f.code, f.failed.cell) for f in read([made], Settings(jobs=1)).findings if f.failed] == [("SP103", 3)]


@pytest.mark.parametrize("broken", ["size = \n", "def f(:\n    pass\n", "nvidia smi\n", "rm is None and\n"])
def test_the_other_cells_run_without_one_that_is_broken(tmp_path: Path, broken: str) -> None:
    made = notebook(tmp_path, ("code", MAKES), ("code", broken), ("code", TRAINS))
    found = [(f.code, f.failed.cell, f.failed.line) for f in read([made], Settings(jobs=1)).findings if f.failed]
    assert found == [("SP000", 2, 1), ("SP103", 3, 6)]
    made = notebook(tmp_path, ("code", MAKES), ("code", TRAINS + broken))
    assert [f.code for f in read([made], Settings(jobs=1)).findings] == ["SP000"]


def test_a_comment_in_the_cell_silences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook(tmp_path, ("code", MAKES), ("code", TRAINS.replace("backward()", "backward()  # noqa: SP103")))
    assert not read(["train.ipynb"], Settings(jobs=1)).findings
    notebook(tmp_path, ("code", MAKES), ("code", TRAINS.replace("rule.step()", "rule.step()  # noqa: SP103")))
    assert [f.code for f in read(["train.ipynb"], Settings(jobs=1)).findings] == ["SP103"]


def test_a_baseline_knows_the_line_of_the_cell(told: Any, tmp_path: Path) -> None:
    told("--baseline", "known.json", "--update-baseline")
    [entry] = json.loads((tmp_path / "known.json").read_text())["findings"]
    assert entry["text"] == "memory.pow(2).mean().backward()"
    notebook(tmp_path, ("code", MAKES), ("code", "# more\n" * 9), ("code", "\n" + TRAINS))
    assert told("--baseline", "known.json", "--output-format", "concise") == ""


def test_a_program_has_no_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(MAKES + TRAINS.replace("%time\n", ""))
    [finding] = read(["train.py"], Settings(jobs=1)).findings
    assert finding.failed is not None
    assert (finding.failed.line, finding.failed.cell) == (9, None)
