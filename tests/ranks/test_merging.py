# SPDX-License-Identifier: BSD-3-Clause
"""Ranks that tell together what they have found: real processes, without torch, in every order of dying."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from secondpass.causes.unfinished_reduction import merge
from secondpass.record import Finding, Place
from secondpass.session import ranks
from secondpass.session.ranks import Ranks, run_folder, spelled

FORK = multiprocessing.get_context("fork")


def finding(line: int = 7, code: str = "SP103", cause: str = "carried-state", **facts: Any) -> Finding:
    return Finding(code, cause, "error", f"line {line}", failed=Place("train.py", line, "main"), facts=facts)


def rank_of(
    number: int, world: int, folder: Path, told: Path, act: Callable[[Ranks, Callable[..., None]], None]
) -> Any:
    """A process that is one rank: it joins, waits for all to be there, and acts."""

    def run() -> None:
        ranks = Ranks(number, world, folder)
        assert ranks.join()
        while len(list(folder.glob("rank-*.json"))) < world:
            time.sleep(0.01)

        def tell(found: list[Finding]) -> None:
            rows = [
                {"by": number, "at": f.failed.line if f.failed else 0, "seen": [e["text"] for e in f.evidence]}
                for f in found
            ]
            with open(told, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)

        act(ranks, tell)
        ranks.leave()

    process = FORK.Process(target=run)
    process.start()
    return process


def rows(told: Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in told.read_text(encoding="utf-8").splitlines()] if told.exists() else []


@pytest.fixture
def play(tmp_path: Path):
    """Plays ranks; returns what was told, and whether the folder is gone."""
    running = []

    def playing(*acts: Callable[[Ranks, Callable[..., None]], None], wait: bool = True) -> list[dict[str, Any]]:
        folder, told = tmp_path / "run", tmp_path / "told"
        running.extend(rank_of(k, len(acts), folder, told, act) for k, act in enumerate(acts))
        for process in running if wait else running[1:]:
            process.join(60)
        return rows(told)

    yield playing
    for process in running:
        process.kill()


def fails(*found: Finding, after: float = 0) -> Callable[[Ranks, Callable[..., None]], None]:
    def act(ranks: Ranks, tell: Callable[..., None]) -> None:
        time.sleep(after)
        ranks.settle(found, "RuntimeError: no", tell)

    return act


def ends(ranks: Ranks, tell: Callable[..., None]) -> None:
    ranks.settle((), "", tell)


def is_killed(ranks: Ranks, tell: Callable[..., None]) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_one_fault_is_told_once(play, tmp_path):
    [row] = play(*[fails(finding())] * 4)
    assert row["by"] == 0
    assert row["seen"] == ["on all 4 ranks"]
    assert not (tmp_path / "run").exists()


def test_ranks_that_differ_are_said(play):
    told = play(fails(finding(7)), fails(finding(9)), fails(finding(9)))
    assert [(r["at"], r["seen"][0]) for r in told] == [(7, "on rank 0 of 3"), (9, "on ranks 1-2 of 3")]
    assert {r["by"] for r in told} == {0}


def test_the_lowest_that_is_alive_tells(play):
    def killed_while_it_tells(ranks: Ranks, tell: Callable[..., None]) -> None:
        ranks.settle((finding(),), "RuntimeError: no", lambda found: os.kill(os.getpid(), signal.SIGKILL))

    [row] = play(killed_while_it_tells, fails(finding()), fails(finding()))
    assert row["by"] == 1
    assert row["seen"] == ["on all 3 ranks"]  # what the dead one had written counts


def test_ranks_that_die_one_after_the_other(play):
    [row] = play(is_killed, fails(finding(), after=0.2), is_killed)
    assert row["by"] == 1
    assert row["seen"] == [
        "on rank 1 of 3",
        "rank 0 is gone: it was killed, or died",
        "rank 2 is gone: it was killed, or died",
    ]


def test_a_rank_that_never_fails_is_named_with_its_line(play):
    def waits(ranks: Ranks, tell: Callable[..., None]) -> None:
        time.sleep(60)  # as if in a reduction

    [row] = play(waits, fails(finding(), after=1), wait=False)
    assert row["by"] == 1
    here = next(n for n, line in enumerate(Path(__file__).read_text("utf-8").splitlines(), 1) if "as if in a" in line)
    assert row["seen"][1].startswith("rank 0 has not failed: it waits in ")
    assert f"test_merging.py:{here} (`time.sleep(60)" in row["seen"][1]


def test_a_rank_that_ends_well_waits_for_nobody(play):
    assert play(ends, ends) == []
    [row] = play(ends, fails(finding(), after=0.1))
    assert row["seen"] == ["on rank 1 of 2"]


def test_hundreds_of_findings(play):
    many = [finding(line) for line in range(1, 301)]
    told = play(fails(*many), fails(*many[100:]))
    assert len(told) == 300
    assert {r["by"] for r in told} == {0}
    assert [r["seen"] for r in told][99:101] == [["on rank 0 of 2"], ["on all 2 ranks"]]


def test_passes_that_made_no_difference_are_not_told(play):
    def one(digest: int) -> Finding:
        return finding(5, "SP501", "unreduced-pass", digests={"1": 11, "2": digest})

    assert play(fails(one(3)), fails(one(3))) == []
    [row] = play(fails(one(3)), fails(one(4)))
    assert "after step 2 the parameters are no longer the same" in row["seen"][0]


def test_what_may_be_chance_is_told_where_all_ranks_have_it(play):
    one = finding(5, "SP501", "unreduced-pass", ranks=2, by_chance=True)
    assert play(fails(one), fails()) == []
    [row] = play(fails(one), fails(one))
    assert row["seen"] == ["on all 2 ranks"]


def test_different_branches(play):
    def one(*names: str) -> Finding:
        return finding(5, "SP504", "unfinished-reduction", waiting=list(names))

    [row] = play(fails(one("a")), fails(one("b")))
    assert "rank 0 for `a`; rank 1 for `b`" in row["seen"][0]
    # Frozen or left out, it would be trained on no rank.
    merged = merge({0: one("a"), 1: one("b")})
    assert [r.title for r in merged.remedies] == [
        "take the same branch on every rank, or compute both and let the loss use the other one times zero",
        "give DistributedDataParallel find_unused_parameters=True",
    ]


def test_a_moment_is_longer_on_a_busy_machine(monkeypatch):
    times = []
    for load in (0.0, 4.0 * (os.cpu_count() or 1), 1e6):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        times.append(ranks._moment(1.0))
    assert times == [1.0, 4.0, 8.0]


def test_spelled():
    assert spelled([0, 1, 2, 3]) == "0-3"
    assert spelled([5, 0, 2, 1]) == "0-2, 5"


def test_a_folder_of_somebody_else_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "there")
    assert not Ranks(0, 2, tmp_path / "run").join()


def test_runs_of_different_launchers_do_not_meet(monkeypatch):
    monkeypatch.setenv("MASTER_PORT", "1")
    one = run_folder()
    monkeypatch.setenv("MASTER_PORT", "2")
    assert run_folder() != one
    monkeypatch.setattr(os, "getppid", lambda: 1)
    assert run_folder().name.split("-")[2] == "1"


@pytest.mark.parametrize(("line", "branches"), [("train.py:8", True), ("train.py:9", False)])
def test_who_is_still_in_the_pass_that_was_left_open_took_another_branch(line: str, branches: bool) -> None:
    left = Finding("SP504", "unfinished-reduction", "error", "", failed=Place("train.py", 7), used=Place("train.py", 8))
    one = merge({0: left}, [line])
    assert [r.target for r in one.remedies] == (["", "find_unused_parameters"] if branches else [])
