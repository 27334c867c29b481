# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass fix` on real programs: run, repair, proof, write, undo; and programs that are none of its business."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from secondpass.commands.fix import command
from secondpass.record import Report

from .case import CASES

pytest.importorskip("torch")
CARRIED = next(c for c in CASES if c.name == "detach_late_handover")
# Two faults, the second behind the first: state carried over, and a list of losses that is never cut.
CHAIN = CARRIED.before.replace("for step in range(5):", "kept = []\nfor step in range(40):").replace(
    "    prev = new\n", "    kept.append(loss)\n    prev = new\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def fix(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_writes_what_it_has_proven_and_takes_it_back(folder: Path) -> None:
    (folder / "main.py").write_text(CARRIED.before)
    status, said = fix("--write", "--json", "out.json", "main.py")
    assert status == 0, said
    assert (folder / "main.py").read_text() == CARRIED.after
    assert "proven: failed at pass 2, ran 5 passes to its end" in said
    report = Report.from_json((folder / "out.json").read_text())
    (finding,) = report.findings
    assert finding.remedies[0].proof is not None
    assert finding.remedies[0].proof.status == "proven"
    assert subprocess.run([sys.executable, "main.py"], cwd=folder, capture_output=True).returncode == 0
    assert fix("--undo") == (0, "put back: main.py\n")
    assert (folder / "main.py").read_text() == CARRIED.before


def test_half_of_a_loss_is_not_taken_for_the_whole(folder: Path) -> None:
    text = (
        "import torch\nw = torch.randn(3, requires_grad=True)\nopt = torch.optim.SGD([w], 0.1)\n"
        "for x in torch.randn(3, 4, 3):\n    opt.zero_grad()\n    loss = (x @ w).pow(2).mean()\n"
        "    (loss / 2).backward()\n    (loss / 2).backward()\n    opt.step()\n"
    )
    (folder / "main.py").write_text(text)
    _, said = fix("--write", "main.py")
    assert (folder / "main.py").read_text() == text
    assert "send the loss through once" in " ".join(said.split())


@pytest.mark.slow
def test_without_write_nothing_changes(folder: Path) -> None:
    (folder / "main.py").write_text(CARRIED.before)
    status, said = fix("--diff", "main.py")
    assert status == 0
    assert said.startswith("--- a/main.py\n+++ b/main.py\n")
    assert "+    prev = prev.detach()" in said
    assert (folder / "main.py").read_text() == CARRIED.before
    assert [p.name for p in folder.iterdir()] == ["main.py"]


def test_rounds_until_the_program_is_clean(folder: Path) -> None:
    (folder / "main.py").write_text(CHAIN)
    status, said = fix("--write", "main.py")
    assert status == 0, said
    text = (folder / "main.py").read_text()
    assert "    prev = prev.detach()\n" in text
    assert "    kept.append(loss.item())\n" in text
    assert "uncovers graph-leak" in said
    assert "Round 2: SP401 graph-leak" in said


def test_a_program_that_does_not_fail(folder: Path) -> None:
    (folder / "main.py").write_text(CARRIED.after)
    said = fix("--write", "--json", "out.json", "main.py")
    assert said == (0, "Nothing to repair: 5 passes, no finding.\n")
    assert json.loads((folder / "out.json").read_text())["schema"] == "secondpass/1"


def test_a_program_that_fails_for_another_reason(folder: Path) -> None:
    (folder / "main.py").write_text("import torch\nraise ValueError('no data')\n")
    status, said = fix("main.py")
    assert (status, said) == (1, "The program fails, but not because of its graph: ValueError: no data (main.py:2)\n")


def test_a_program_that_wants_input(folder: Path) -> None:
    (folder / "main.py").write_text("import torch\ninput('rate? ')\n")
    status, said = fix("main.py")
    assert status == 1
    assert "It reads from standard input" in said


def test_a_program_that_runs_on(folder: Path) -> None:
    (folder / "main.py").write_text("import time\nwhile True:\n    time.sleep(1)\n")
    status, said = fix("--timeout", "2", "main.py")
    assert status == 1
    assert "--until N stops it after N passes" in said


@pytest.mark.slow
def test_until_stops_a_long_program(folder: Path) -> None:
    (folder / "main.py").write_text(CARRIED.before.replace("range(5)", "range(10**9)"))
    status, said = fix("--until", "6", "--write", "main.py")
    assert status == 0, said
    assert "ran 7 passes and was stopped there" in said


def test_no_such_program(folder: Path) -> None:
    status, said = fix("gone.py")
    assert status == 2
    assert "no such program: gone.py" in said


def test_a_folder_without_a_program(folder: Path) -> None:
    (folder / "train").mkdir()
    assert "train is a folder without a __main__.py" in fix("train")[1]


def test_a_syntax_error_has_its_line(folder: Path) -> None:
    (folder / "main.py").write_text("x = 1\ndef f(:\n")
    assert "SyntaxError: invalid syntax (main.py:2)" in fix("main.py")[1]


def test_a_launcher_that_starts_it_once_per_rank(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "main.py").write_text("")
    monkeypatch.setattr("secondpass.commands.fix.world", lambda: 2)
    status, said = fix("main.py")
    assert status == 2
    assert "secondpass fix -m torch.distributed.run --nproc-per-node 2 main.py" in said


@pytest.mark.slow
def test_stopped_while_a_remedy_is_tried(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What had been written is shown, and is not called proven."""

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (folder / "main.py").write_text(CARRIED.before)
    monkeypatch.setattr("secondpass.remedies.prove.rounds.prove", stop)
    status, said = fix("--write", "main.py")
    assert status == 130
    assert "not run: stopped before it had ended" in said
    assert "detach()" in said
    assert "no remedy could be written" not in said
    assert (folder / "main.py").read_text() == CARRIED.before
