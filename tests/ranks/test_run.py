# SPDX-License-Identifier: BSD-3-Clause
"""`secondpass run` over programs of several ranks, started in every way: one explanation, from a rank that can give it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from .launch import environment, free_port, launch

PROGRAMS = Path(__file__).parent / "programs"

pytestmark = pytest.mark.slow


def line_of(program: str, text: str) -> int:
    rows = (PROGRAMS / program).read_text(encoding="utf-8").splitlines()
    return next(k for k, row in enumerate(rows, 1) if text in row)


def watched(*words: str, cwd: Path, command: str = "run") -> str:
    """What `secondpass run` over a program that starts its ranks itself says."""
    done = subprocess.run(
        [sys.executable, "-m", "secondpass", command, *words],
        env=environment(), cwd=cwd, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_a_rank_that_branches_and_one_that_hangs(tmp_path: Path) -> None:
    program, report = "one_rank_branches.py", tmp_path / "report.json"
    (code0, text0), (code1, text1) = launch(
        2, "-m", "secondpass", "run", "--json", str(report), str(PROGRAMS / program)
    )
    assert (code0, code1) == (1, 1)
    assert (text0 + text1).count("SP504 unfinished-reduction: `dates`, output of `model`") == 1
    waits = f"{program}:{line_of(program, 'loss.backward()')} (`loss.backward()`)"
    plain = " ".join(text1.replace("[rank1]:", " ").split())
    assert "on rank 1 of 2" in plain
    assert "rank 0 has not failed: it waits in" in plain and waits in plain
    assert "rank 1 failed first: SP504 unfinished-reduction" in text0

    whole = json.loads(report.read_text(encoding="utf-8"))
    [finding] = whole["findings"]
    assert whole["program"]["rank"] == 1 and whole["program"]["ranks"] == 2
    assert finding["failed"]["line"] == line_of(program, "names, dates = model(")
    assert [e["ranks"] for e in finding["evidence"] if e["what"] == "ranks"] == [[1]]
    assert json.loads(Path(f"{report}.rank1").read_text(encoding="utf-8"))["findings"]


def test_ranks_that_are_killed_are_named(tmp_path: Path) -> None:
    (code0, text0), (code1, _), (code2, _) = launch(3, "-m", "secondpass", "run", str(PROGRAMS / "ranks_are_killed.py"))
    assert (code0, code1, code2) == (1, -signal.SIGKILL, -signal.SIGKILL)
    assert "secondpass: ranks 1-2 are gone: killed, or dead without a word" in text0


@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_ranks_that_the_program_starts(how: str, tmp_path: Path) -> None:
    program, report = "starts_its_ranks.py", tmp_path / "report.json"
    text = watched("--json", str(report), str(PROGRAMS / program), how, "meeting", cwd=tmp_path)
    assert text.count("SP103 carried-state: `h` carries the history") == 1
    assert "on all 2 ranks" in text
    assert "+ h = h.detach()" in text
    [finding] = json.loads(report.read_text(encoding="utf-8"))["findings"]
    assert finding["failed"]["line"] == line_of(program, "loss.backward()")
    assert finding["built"]["line"] == line_of(program, "y, h = model(")


def test_a_program_that_starts_itself_again(tmp_path: Path) -> None:
    program, report = "starts_itself.py", tmp_path / "report.json"
    text = watched("--json", str(report), str(PROGRAMS / program), str(free_port()), cwd=tmp_path)
    assert text.count("SP103 carried-state: `h` carries the history") == 1
    assert "on all 2 ranks" in text
    [finding] = json.loads(report.read_text(encoding="utf-8"))["findings"]
    assert finding["failed"]["line"] == line_of(program, "loss.backward()")


def test_torchs_own_launcher(tmp_path: Path) -> None:
    program, report = "carries_its_state.py", tmp_path / "report.json"
    where = ("--master-addr", "127.0.0.1", "--master-port", str(free_port()))
    text = watched(
        "--json", str(report), "-m", "torch.distributed.run", "--nproc-per-node", "2", *where, str(PROGRAMS / program),
        cwd=tmp_path,
    )  # fmt: skip
    assert text.count("SP103 carried-state: `h` carries the history") == 1
    assert "on all 2 ranks" in text
    assert text.count("secondpass: SP103 carried-state, explained by another rank") == 1
    [finding] = json.loads(report.read_text(encoding="utf-8"))["findings"]
    assert finding["failed"]["line"] == line_of(program, "loss.backward()")


@pytest.mark.parametrize("how", ["spawn", "launcher"])
def test_every_rank_has_a_page_with_its_ledger(how: str, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    if how == "spawn":
        # Ranks that are stopped leave the file behind that they met at: it stands elsewhere.
        words = [str(PROGRAMS / "starts_its_ranks.py"), how, str(tmp_path / "meeting")]
    else:
        where = ("--master-addr", "127.0.0.1", "--master-port", str(free_port()))
        program = str(PROGRAMS / "carries_its_state.py")
        words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", *where, program]
    watched("--out", "page.html", *words, cwd=pages, command="see")
    assert sorted(p.name for p in pages.iterdir()) == ["page.html", "page.rank1.html"]
    for page in pages.iterdir():
        shown = re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
        assert shown is not None
        data = json.loads(shown[1])
        assert [f["code"] for f in data["findings"]] == ["SP103"]
        assert len(data["passes"]) == 2 and data["ledger"]


def test_a_program_of_several_ranks_is_repaired(tmp_path: Path) -> None:
    program = "carries_its_state.py"
    shutil.copy(PROGRAMS / program, tmp_path)
    where = ("--master-addr", "127.0.0.1", "--master-port", str(free_port()))
    words = ("fix", "-m", "torch.distributed.run", "--nproc-per-node", "2", *where, program)
    done = subprocess.run(
        [sys.executable, "-m", "secondpass", *words],
        env=environment(), cwd=tmp_path, text=True, capture_output=True, timeout=300,
    )  # fmt: skip
    assert "-> detach" in done.stdout and "proven: failed at pass" in done.stdout, done.stdout
