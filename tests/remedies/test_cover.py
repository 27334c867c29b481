# SPDX-License-Identifier: BSD-3-Clause
"""What a repair leaves untrained; from made-up runs."""

from __future__ import annotations

from typing import Any

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies.prove.cover import untrained
from secondpass.remedies.prove.judge import judge, same
from secondpass.remedies.prove.run import Run


def a_pass(*behind: tuple[int, int]) -> dict[str, Any]:
    return {"what": "pass", "digest": "d", "behind": list(behind)}


def a_step(optimizer: int, *had: int) -> dict[str, Any]:
    return {"what": "step", "optimizer": optimizer, "had": list(had), "sums": []}


def a_run(*lines: dict[str, Any], outcome: str = "ended") -> Run:
    return Run(outcome, 0 if outcome == "ended" else 1, (), lines)


def test_another_players_own_pass_trains_it() -> None:
    """The loss of the discriminator reached the generator as well: that it no longer does is the repair."""
    before = a_run(a_pass((0, 0), (1, 0)), a_step(0, 0), a_pass((0, 0), (1, 0)), outcome="failed")
    after = a_run(a_pass((0, 0)), a_step(0, 0), a_pass((0, 0), (1, 0)), a_step(1, 0), a_pass((0, 0)), a_step(0, 0))
    assert untrained(before, after, failed=True, cut=False) == ""


def test_a_player_that_is_never_trained_again() -> None:
    both = a_pass((0, 0), (1, 0))
    before = a_run(both, a_step(0, 0), both, outcome="failed")
    after = a_run(a_pass((0, 0)), a_step(0, 0), a_pass((0, 0)), a_step(1))
    assert (
        untrained(before, after, failed=True, cut=False) == "a parameter of optimizer 2 would not be trained any more"
    )


def test_gradients_that_are_cleared_before_the_step_do_not_count() -> None:
    before = a_run(a_pass((0, 0), (0, 1)), outcome="failed")
    after = a_run(a_pass((0, 0), (0, 1)), a_step(0))
    assert "2 of the parameters" in untrained(before, after, failed=True, cut=False)


def test_a_learned_first_state_is_reached_now_and_then() -> None:
    chain = a_pass((0, 0), (0, 1))
    before = a_run(chain, a_step(0, 0, 1), chain, outcome="failed")
    window = [a_pass((0, 0)), a_step(0, 0)]
    again = a_run(chain, a_step(0, 0, 1), *window, *window, chain, a_step(0, 0, 1))
    never = a_run(chain, a_step(0, 0, 1), *window, *window)
    assert untrained(before, again, failed=True, cut=True) == ""
    assert untrained(before, again, failed=True, cut=False)
    assert untrained(before, never, failed=True, cut=True)


def test_silent_programs_are_compared_as_a_whole() -> None:
    one, two = (a_pass((0, 0)), a_step(0, 0)), (a_pass((0, 1)), a_step(0, 1))
    assert untrained(a_run(*one, *two), a_run(*two, *one), failed=False, cut=False) == ""
    assert untrained(a_run(*one, *two), a_run(*one, *one), failed=False, cut=False)
    assert untrained(a_run(*one, *two), a_run(a_pass((0, 0))), failed=False, cut=False) == (
        "optimizer 1 does not step any more"
    )


def test_fewer_steps_refute() -> None:
    error = Finding("SP103", "carried-state", "error", "m", Place("t.py", 9, "train"), Carrier("h"))
    step = (a_pass((0, 0)), a_step(0, 0))
    before = Run("failed", 1, (error,), (*step, *step, a_pass((0, 0))))
    found = judge(error, Remedy("combine-losses", "Add them up"), before, a_run(*step))
    assert (found.proof.status, found.proof.detail) == ("refuted", "only 1 of 2 steps are left")
    none = judge(error, Remedy("recompute", "Again"), before, a_run())
    assert none.proof.detail == "no pass is left"


def test_two_warnings_of_one_kind_in_one_function_are_two() -> None:
    one, two = (Finding("SP402", "needless-retain", "warning", "m", Place("t.py", n, "train")) for n in (5, 8))
    assert same(one, two)
    assert not same(one, two, lambda file, line: line)
    assert same(one, two, lambda file, line: line - 3)
    assert same(one, two, lambda file, line: None)  # a line that the repair has written


def test_no_step_applies_what_had_been_cleared_because_it_is_anothers() -> None:
    finding = Finding("SP404", "misplaced-zero-grad", "warning", "m", Place("t.py", 3, "look"))
    own = {"at": [("t.py", 5)], **a_pass((0, 0))}
    other = {"at": [("t.py", 9)], **a_pass((0, 0), (1, 0))}

    def turns(*clean: list[int]) -> Run:
        micro = [own | {"clean": clean[0]}, other | {"clean": clean[1]}, a_step(1, 0)]
        return a_run(*micro, own | {"clean": clean[2]}, a_step(0, 0), other | {"clean": clean[3]}, a_step(1, 0), *micro)

    broken = turns([0, 1], [1], [0, 1], [1])
    late, mixed = turns([0, 1], [1], [1], [0, 1]), turns([0, 1], [1], [], [0, 1])
    anew = turns([0, 1], [1], [0, 1], [0, 1])
    remedy = Remedy("reorder", "")
    for after, status in ((mixed, "refuted"), (late, "refuted"), (anew, "proven")):
        assert judge(finding, remedy, broken, after).proof.status == status
