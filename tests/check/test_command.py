# SPDX-License-Identifier: BSD-3-Clause
"""The manners of the command: exit status, formats, what is left out, fixes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from secondpass.commands.check import command

FAULTY = """\
import torch
from torch import nn

cell = nn.GRUCell(3, 4)
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 4)
for _ in range(10):
    h = cell(torch.randn(1, 3), h)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
RETAIN = FAULTY.replace("    h = cell(torch.randn(1, 3), h)", "    h = cell(torch.randn(1, 3))").replace(
    "loss.backward()", "loss.backward(retain_graph=True)"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(FAULTY)
    return tmp_path


def check(*args: str) -> Result:
    result = CliRunner().invoke(command, list(args), catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


def test_findings_are_printed_and_exit_with_one(project: Path) -> None:
    result = check("train.py")
    assert result.exit_code == 1
    assert "SP103 carried-state" in result.stdout
    assert "Found 1 fault, 1 fixable with --fix." in result.stderr


def test_nothing_found_exits_with_zero(project: Path) -> None:
    (project / "train.py").write_text("print('hello')\n")
    result = check(".")
    assert (result.exit_code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nowhere.py"], "no such file"),
        (["--select", "XY1", "."], "neither a code nor a cause"),
        (["--update-baseline", "."], "--update-baseline needs"),
        (["--with", "train.py", "train.py"], "train.py: is no report"),
    ],
)
def test_a_wrong_call_exits_with_two_and_one_line(project: Path, args: list[str], says: str) -> None:
    result = check(*args)
    assert result.exit_code == 2
    assert says in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_exit_zero(project: Path) -> None:
    assert check("--exit-zero", "train.py").exit_code == 0


def test_the_json_contract(project: Path) -> None:
    check("--json", "out.json", ".")
    data = json.loads((project / "out.json").read_text())
    [finding] = data["findings"]
    assert data["schema"] == "secondpass/1"
    assert (finding["code"], finding["cause"]) == ("SP103", "carried-state")
    assert finding["failed"] == {"file": "train.py", "line": 11, "function": "<module>", "cell": None}
    assert finding["carrier"]["name"] == "h"
    assert finding["remedies"][0]["kind"] == "detach"
    assert "h.detach()" in finding["remedies"][0]["diff"]


@pytest.mark.parametrize(
    ("args", "left"),
    [
        (["--select", "SP1"], 1),
        (["--select", "SP103"], 1),
        (["--select", "carried-state"], 1),
        (["--select", "SP4"], 0),
        (["--ignore", "SP1"], 0),
        (["--select", "SP103", "--ignore", "SP1"], 1),
        (["--ignore", "SP102,SP103"], 0),
        (["--exclude", "train.py"], 0),
        (["--exclude", "tr*"], 0),
    ],
)
def test_what_is_selected(project: Path, args: list[str], left: int) -> None:
    result = check("--output-format", "concise", *args, ".")
    assert result.stdout.count("SP103") == left


@pytest.mark.parametrize(
    ("comment", "silent"),
    [
        ("# noqa", True),
        ("# noqa: SP103", True),
        ("# noqa: E501, SP103", True),
        ("# noqa: SP1", True),
        ("# noqa: SP102", False),
        ("# fine", False),
    ],
)
def test_comments_silence_a_line(project: Path, comment: str, silent: bool) -> None:
    (project / "train.py").write_text(FAULTY.replace("loss.backward()", f"loss.backward()  {comment}"))
    assert check("train.py").exit_code == (0 if silent else 1)


def test_a_comment_silences_a_file(project: Path) -> None:
    (project / "train.py").write_text("# secondpass: noqa: SP103\n" + FAULTY)
    assert check("train.py").exit_code == 0


def test_settings_stand_in_pyproject(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.secondpass]\nignore = ["SP103"]\n')
    assert check(".").exit_code == 0
    assert check("--ignore", "SP4", ".").exit_code == 1
    (project / "pyproject.toml").write_text('[tool.secondpass]\nignored = ["SP103"]\n')
    result = check(".")
    assert result.exit_code == 2
    assert "unknown setting 'ignored'" in result.stderr


def test_gitignore_is_respected(project: Path) -> None:
    (project / ".git").mkdir()
    (project / "old").mkdir()
    (project / "train.py").rename(project / "old" / "train.py")
    (project / ".gitignore").write_text("old/\n")
    assert check(".").exit_code == 0
    assert check("--no-respect-gitignore", ".").exit_code == 1
    assert check("old/train.py").exit_code == 1


def test_a_baseline_holds_what_is_known(project: Path) -> None:
    assert check("--baseline", "known.json", "--update-baseline", ".").exit_code == 0
    assert check("--baseline", "known.json", ".").exit_code == 0
    (project / "train.py").write_text("import os\n\n" + FAULTY)
    assert check("--baseline", "known.json", ".").exit_code == 0
    (project / "second.py").write_text(FAULTY)
    assert check("--baseline", "known.json", ".").exit_code == 1


def test_only_safe_fixes_are_applied_unasked(project: Path) -> None:
    (project / "train.py").write_text(RETAIN)
    assert check("train.py").exit_code == 1
    result = check("--diff", "train.py")
    assert "-    loss.backward(retain_graph=True)" in result.stdout
    assert (project / "train.py").read_text() == RETAIN
    result = check("--fix", "train.py")
    assert result.exit_code == 0
    assert (project / "train.py").read_text() == RETAIN.replace("retain_graph=True", "")


def test_after_a_fix_the_check_is_silent(project: Path) -> None:
    check("--fix", "--unsafe-fixes", "train.py")
    assert "h.detach()" in (project / "train.py").read_text()
    assert check("train.py").exit_code == 0


def test_github_and_gitlab(project: Path) -> None:
    text = check("--output-format", "github", ".").stdout
    assert text.startswith("::error title=secondpass (SP103),file=train.py,line=11::")
    [entry] = json.loads(check("--output-format", "gitlab", ".").stdout)
    assert entry["location"] == {"path": "train.py", "lines": {"begin": 11}}
    assert len(entry["fingerprint"]) == 32


def test_sarif_has_flows_and_fixes(project: Path) -> None:
    log = json.loads(check("--output-format", "sarif", ".").stdout)
    [result] = log["runs"][0]["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [s["location"]["physicalLocation"]["region"]["startLine"] for s in steps] == [8, 11, 11]
    change = result["fixes"][0]["artifactChanges"][0]
    assert change["artifactLocation"]["uri"] == "train.py"
    assert "detach" in change["replacements"][0]["insertedContent"]["text"]
    rule = log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["id"] == "SP103"


def test_sarif_fits_its_schema(project: Path) -> None:
    schema = os.environ.get("SARIF_SCHEMA")
    if not schema:
        pytest.skip("set SARIF_SCHEMA to the path of sarif-schema-2.1.0.json")
    import jsonschema

    log = json.loads(check("--output-format", "sarif", ".").stdout)
    jsonschema.validate(log, json.loads(Path(schema).read_text("utf-8")))


def test_statistics(project: Path) -> None:
    assert check("--statistics", ".").stdout == "1\tSP103\tcarried-state\n"


def test_the_cache_forgets_what_changed(project: Path) -> None:
    (project / "helper.py").write_text("def cut(h):\n    return h\n")
    text = FAULTY.replace("    opt.step()\n", "    opt.step()\n    h = cut(h)\n")
    (project / "train.py").write_text("from helper import cut\n" + text)
    assert check("train.py").exit_code == 1
    assert list((project / ".secondpass_cache").glob("*.json"))
    assert check("train.py").exit_code == 1
    (project / "helper.py").write_text("def cut(h):\n    return h.detach()\n")
    assert check("train.py").exit_code == 0


def test_a_broken_cache_is_rebuilt(project: Path) -> None:
    check("train.py")
    for file in (project / ".secondpass_cache").glob("*.json"):
        file.write_text("{broken")
    assert check("train.py").exit_code == 1


def test_several_processes_find_the_same(project: Path) -> None:
    for n in range(12):
        (project / f"train_{n}.py").write_text(FAULTY)
    one = check("--no-cache", "-j", "1", "--output-format", "concise", ".").stdout
    two = check("--no-cache", "-j", "2", "--output-format", "concise", ".").stdout
    assert one == two
    assert one.count("SP103") == 13


def test_a_run_confirms_or_withdraws(project: Path) -> None:
    report = {"schema": "secondpass/1", "findings": []}
    (project / "run.json").write_text(json.dumps(report))
    assert check("--with", "run.json", "train.py").exit_code == 1
    report["passes"] = {"count": 9, "sites": [{"file": "train.py", "line": 11, "count": 9}]}
    (project / "run.json").write_text(json.dumps(report))
    result = check("--with", "run.json", "train.py")
    assert result.exit_code == 0
    assert "withdrawn" in result.stderr
    check("--json", "static.json", "train.py")
    result = check("--with", "static.json", "--output-format", "json", "train.py")
    assert "confirmed by the run" in result.stdout


def test_notebooks_are_read_cell_by_cell(project: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# a title\n"]},
        {"cell_type": "code", "source": ["%matplotlib inline\n", "!pip list\n", "import os"]},
        {"cell_type": "code", "source": FAULTY.splitlines(keepends=True)},
    ]
    (project / "train.py").unlink()
    (project / "train.ipynb").write_text(json.dumps({"cells": cells}))
    result = check("--output-format", "concise", ".")
    assert result.stdout.startswith("train.ipynb:cell 3:11: SP103")


def test_the_last_line_says_what_was_read_and_what_can_be_fixed(project: Path) -> None:
    (project / "plain.py").write_text("print(1)\n")
    assert "No training code in 1 file: nothing to check." in check("plain.py", "--no-cache").output
    assert "Found 1 fault, 1 fixable with --fix." in check("train.py", "--no-cache").output


def test_unknown_codes_are_told(project: Path) -> None:
    assert check("--select", "SP999").exit_code == 2
    (project / "pyproject.toml").write_text('[tool.secondpass]\nignore = ["SP888"]\n')
    refused = check("train.py")
    assert refused.exit_code == 2 and "SP888" in refused.output
    (project / "pyproject.toml").unlink()
    (project / "train.py").write_text(FAULTY.replace("loss.backward()", "loss.backward()  # noqa: SP777"))
    told = check("train.py", "--no-cache")
    assert told.exit_code == 1 and "`# noqa: SP777` silences nothing" in told.output


def test_a_fault_is_told_when_the_program_that_reaches_it_is_named(project: Path) -> None:
    body = "".join(f"    {line}\n" for line in FAULTY.splitlines()[3:])
    (project / "library.py").write_text("import torch\nfrom torch import nn\n\n\ndef train():\n" + body)
    (project / "main.py").write_text("from library import train\n\ntrain()\n")
    told = check("main.py", "--no-cache", "--output-format", "concise")
    assert told.exit_code == 1 and told.output.startswith("library.py:13: SP103")
    (project / "other.py").write_text("import json\n\nprint(json.dumps({}))\n")
    assert check("other.py", "--no-cache").exit_code == 0


def test_a_file_that_walks_what_it_is_given_need_not_name_pytorch(project: Path) -> None:
    (project / "steps.py").write_text("def walk(losses):\n    for loss in losses:\n        loss.backward()\n")
    (project / "start.py").write_text(
        "import torch\nfrom steps import walk\nw = torch.ones(3, requires_grad=True)\nh = w.exp()\n"
        "walk([h.sum(), h.prod()])\n"
    )
    assert "SP102" in check("start.py", "--no-cache").output
    assert "steps.py:3: SP102" in check(".", "--no-cache", "--output-format", "concise").output
    (project / "start.py").write_text("import chain\nfrom steps import walk\nwalk(chain.losses())\n")
    assert check("start.py", "steps.py", "--no-cache").exit_code == 0


def test_standard_input(project: Path) -> None:
    def read(*args: str) -> Result:
        return CliRunner().invoke(command, ["-", "--output-format", "concise", *args], input=FAULTY)

    assert read().output.startswith("stdin.py:11: SP103")
    assert read("--stdin-filename", "here/a.py").output.startswith("here/a.py:11: SP103")
    assert read("--fix").exit_code == 2
    assert read("train.py").exit_code == 2
    assert check("train.py", "--stdin-filename", "a.py").exit_code == 2


def test_notebooks_are_not_fixed_and_that_is_said(project: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": FAULTY}
    book = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (project / "book.ipynb").write_text(book)
    told = check("book.ipynb", "--fix", "--no-cache")
    assert told.exit_code == 1 and "Notebooks are not fixed" in told.output
    assert (project / "book.ipynb").read_text() == book
