# SPDX-License-Identifier: BSD-3-Clause
"""What a run of the repaired program proves, refutes or leaves open; from made-up runs."""

from __future__ import annotations

from typing import Any

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies.prove.judge import judge, same
from secondpass.remedies.prove.run import Run

ERROR = Finding("SP103", "carried-state", "error", "m", Place("t.py", 9, "train"), Carrier("h"))
DETACH = Remedy("detach", "Detach")


def a_run(passes: int, *findings: Finding, outcome: str = "ended", edited: int | None = None, **more: Any) -> Run:
    lines: list[dict[str, Any]] = []
    for i in range(1, passes + 1):
        if edited == i:
            lines.append({"what": "edited", "before": i})
        lines.append({"what": "pass", "number": i, "digest": f"d{i}", "whole": {}, "fresh": {}})
    return Run(outcome, more.pop("exit", 0 if outcome != "failed" else 1), findings, tuple(lines), **more)


BEFORE = a_run(3, ERROR, outcome="failed")


def test_past_the_failing_point_to_the_end() -> None:
    found = judge(ERROR, DETACH, BEFORE, a_run(10, edited=2))
    assert found.proven
    assert found.clean
    assert found.proof.detail == "failed at pass 3, ran 10 passes to its end; 1 pass bit-identical before the change"


def test_the_finding_is_still_there() -> None:
    moved = Finding("SP103", "carried-state", "error", "m", Place("t.py", 10, "train"), Carrier("h"))
    found = judge(ERROR, DETACH, BEFORE, a_run(3, moved, outcome="failed"))
    assert (found.proof.status, found.proof.detail) == ("refuted", "the finding is still there")


def test_another_failure_of_the_program_itself() -> None:
    after = a_run(
        0, outcome="failed", stderr="Traceback ...\nAttributeError: 'tuple' object has no attribute 'detach'\n"
    )
    found = judge(ERROR, DETACH, BEFORE, after)
    assert found.proof.status == "refuted"
    assert "AttributeError: 'tuple' object" in found.proof.detail


@pytest.mark.parametrize(("kind", "cause"), [("detach", "unreached-parameter"), ("retain-graph", "needless-retain")])
def test_what_the_repair_itself_can_cause(kind: str, cause: str) -> None:
    new = Finding("SP406", cause, "warning", "the encoder gets no gradient", Place("t.py", 9, "train"))
    found = judge(ERROR, Remedy(kind, kind), BEFORE, a_run(10, new))
    assert found.proof.status == "refuted"
    assert f"it would cause {cause}" in found.proof.detail


def test_what_it_uncovers_is_for_the_next_round() -> None:
    leak = Finding("SP401", "graph-leak", "warning", "losses", Place("t.py", 12, "train"), Carrier("losses"))
    found = judge(ERROR, DETACH, BEFORE, a_run(10, leak))
    assert found.proven
    assert not found.clean
    assert found.proof.detail.endswith("uncovers graph-leak")


def test_failing_earlier_is_no_repair() -> None:
    other = Finding("SP102", "shared-forward", "error", "two losses", Place("t.py", 5, "train"))
    assert judge(ERROR, DETACH, BEFORE, a_run(1, other, outcome="failed")).proof.status == "refuted"
    assert judge(ERROR, DETACH, BEFORE, a_run(3, other, outcome="failed")).proven


def test_a_changed_value_refutes() -> None:
    after = a_run(10)
    after.lines[1]["digest"] = "other"
    found = judge(ERROR, DETACH, BEFORE, after, rerun=lambda: BEFORE)
    assert found.proof.detail == "a value changed that should have stayed as it was"


def test_a_program_that_is_not_deterministic_is_not_compared() -> None:
    after, again = a_run(10), a_run(3, ERROR, outcome="failed")
    after.lines[1]["digest"] = "other"
    again.lines[1]["digest"] = "third"
    assert judge(ERROR, DETACH, BEFORE, after, rerun=lambda: again).proven


def test_dropping_a_retain_changes_no_gradient() -> None:
    silent = Finding("SP402", "needless-retain", "warning", "m", Place("t.py", 9, "train"))
    step = {"what": "step", "number": 1, "sums": [1.0, 2.0]}
    before, after = a_run(2, silent), a_run(2)
    before.lines = (*before.lines, step)
    after.lines = (*after.lines, {**step, "sums": [1.0, 2.1]})
    drop = Remedy("drop-retain", "Drop")
    assert judge(silent, drop, before, after, rerun=lambda: before).proof.status == "refuted"
    after.lines = (*after.lines[:-1], step)
    assert judge(silent, drop, before, after).proven


def test_time_is_up() -> None:
    found = judge(ERROR, DETACH, BEFORE, a_run(100, outcome="timeout"))
    assert found.proof.status == "not run"
    assert "--until" in found.proof.detail


def test_same_whatever_the_line_and_the_index() -> None:
    one = Finding("SP107", "stored-history", "error", "m", Place("t.py", 3, "f"), Carrier("buffer[0].h"))
    two = Finding("SP107", "stored-history", "error", "m", Place("t.py", 8, "f"), Carrier("buffer[i].h"))
    assert same(one, two)
    assert not same(
        one, Finding("SP107", "stored-history", "error", "m", Place("t.py", 3, "g"), Carrier("buffer[0].h"))
    )


def test_a_cut_may_change_what_a_pass_over_carried_history_did() -> None:
    """Failed at the third pass: the second one had walked what the first left, and its step differs without that."""
    third = a_run(9, edited=2)
    third.lines[2]["whole"], third.lines[3]["digest"] = {"0": {"Mm": 1}}, "x"
    assert judge(ERROR, DETACH, BEFORE, third).proven
    second = a_run(9, edited=2)
    second.lines[2]["digest"] = "x"
    assert not judge(ERROR, DETACH, BEFORE, second).proven


def test_a_change_that_was_not_seen_to_run_is_not_compared() -> None:
    silent = Finding("SP407", "swallowed-error", "warning", "m", Place("t.py", 9, "train"))
    before, after = a_run(4, silent), a_run(4)
    after.lines[2]["digest"] = "other"
    found = judge(silent, DETACH, before, after, rerun=lambda: before)
    assert found.proven
    assert "bit-identical" not in found.proof.detail


def test_a_cut_must_leave_the_passes_there() -> None:
    silent = Finding("SP407", "swallowed-error", "warning", "m", Place("t.py", 9, "train"))
    found = judge(silent, DETACH, a_run(24, silent), a_run(2))
    assert found.proof.detail == "only 2 of 24 passes are left"


def test_a_pass_that_was_tried_again_need_not_be() -> None:
    silent = Finding("SP407", "swallowed-error", "warning", "m", Place("t.py", 9, "train"))
    step = {"what": "step", "number": 1, "optimizer": 0, "had": [0], "sums": []}
    before, after = a_run(6, silent), a_run(3)
    before.lines, after.lines = (*before.lines, step), (*after.lines, step, step, step)
    assert judge(silent, Remedy("recompute", "Again"), before, after).proven
