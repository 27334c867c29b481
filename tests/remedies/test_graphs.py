# SPDX-License-Identifier: BSD-3-Clause
"""What is missing in the graphs of a repaired program; from made-up runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from secondpass.record import Carrier, Finding, Place, Remedy
from secondpass.remedies.prove.graphs import UNUSED, missing, same_values
from secondpass.remedies.prove.judge import judge
from secondpass.remedies.prove.run import Run

Graph = dict[str, dict[str, int]]


def finding(cause: str) -> Finding:
    return Finding("SP1", cause, "error", "m", Place("t.py", 9, "train"), Carrier("h"))


def a_pass(whole: Graph, fresh: Graph | None = None, **more: Any) -> dict[str, Any]:
    """A pass over a graph: for every player, how often an operation occurs."""
    new = whole if fresh is None else fresh
    behind = [(int(player), 0) for player in whole]
    old = {p: {n: c - new.get(p, {}).get(n, 0) for n, c in ops.items()} for p, ops in whole.items()}
    return {"what": "pass", "behind": behind, "whole": whole, "fresh": new, "pure": new, "turn": new, "old": old} | more


def a_step(optimizer: int) -> dict[str, Any]:
    return {"what": "step", "optimizer": optimizer, "had": [0], "sums": []}


def a_run(*lines: dict[str, Any], outcome: str = "ended") -> Run:
    return Run(outcome, 0 if outcome == "ended" else 1, (), lines)


def lost(cause: str, kind: str, before: Run, after: Run) -> str:
    return missing(finding(cause), Remedy(kind, ""), before, after, failed=True)


ONE = {"0": {"Mm": 2, "Add": 1}}
LESS = {"0": {"Mm": 1, "Add": 1}}


def test_an_operation_of_this_turn_is_gone() -> None:
    before = a_run(a_pass(ONE), a_step(0), a_pass({"0": {"Mm": 4, "Add": 2}}, ONE), outcome="failed")
    good = a_run(a_pass(ONE), a_step(0), a_pass(ONE), a_step(0))
    bad = a_run(a_pass(ONE), a_step(0), a_pass(LESS), a_step(0))
    assert lost("carried-state", "detach", before, good) == ""
    assert (
        lost("carried-state", "detach", before, bad)
        == "pass 2 would lose 1 operation that lead to what is trained (Mm)"
    )


def test_what_is_older_than_the_step_goes_with_a_state_and_with_nothing_else() -> None:
    late = a_pass({"0": {"Mm": 4, "Add": 2}}, ONE, turn=LESS)
    before = a_run(a_pass(ONE), a_step(0), late, outcome="failed")
    after = a_run(a_pass(ONE), a_step(0), a_pass(LESS), a_step(0))
    assert lost("carried-state", "detach", before, after) == ""
    assert lost("crossed-networks", "detach", before, after) != ""


def test_one_of_two_players_may_be_cut_off_and_not_the_one_that_steps() -> None:
    both = {"0": {"Mm": 1}, "1": {"Mm": 2}}
    before = a_run(a_pass(both), a_step(0), a_pass(both, {"0": {"Mm": 1}}), outcome="failed")
    good = a_run(a_pass({"0": {"Mm": 1}}), a_step(0), a_pass(both), a_step(1))
    bad = a_run(a_pass(both), a_step(0), a_pass({"0": {"Mm": 1}}), a_step(1))
    assert lost("crossed-networks", "detach", before, good) == ""
    assert (
        lost("crossed-networks", "detach", before, bad) == "pass 2 would not reach a parameter of optimizer 2 any more"
    )


def test_a_parameter_that_only_a_shared_part_leads_to() -> None:
    """The second of two losses of one optimizer would no longer reach what they share."""
    shared = {"what": "pass", "behind": [(0, 0), (0, 1)], "whole": ONE, "fresh": {"0": {}}, "pure": {}, "old": ONE}
    before = a_run(a_pass(ONE), shared, outcome="failed")
    after = a_run(a_pass(ONE), a_pass(LESS), a_step(0))
    assert "would not reach a parameter" in lost("shared-forward", "detach", before, after)


@pytest.mark.parametrize("kind", ["detach", "clone", "inputs", "item", "keep-history"])
def test_passes_and_steps_stay_where_they_are(kind: str) -> None:
    before = a_run(a_pass(ONE), a_step(0), a_pass(ONE), outcome="failed")
    after = a_run(a_pass(ONE), a_pass(ONE), a_step(0))
    assert "do not follow each other" in lost("carried-state", kind, before, after)


def test_what_is_run_again_is_all_of_it_and_the_same() -> None:
    before = a_run(a_pass(ONE), a_step(0), a_pass(ONE, {"0": {}}, random="r", digest="d"), outcome="failed")

    def after(graph: Graph, random: str = "r") -> Run:
        return a_run(a_pass(ONE), a_step(0), a_pass(graph, random=random, digest="e"), a_step(0))

    assert lost("crossed-networks", "recompute", before, after(ONE)) == ""
    assert "would lose 1 operation" in lost("crossed-networks", "recompute", before, after(LESS))
    assert lost("crossed-networks", "recompute", before, after({"0": {"Mm": 4, "Add": 2}})) == ""  # a memo, twice
    assert "not the one" in lost("crossed-networks", "recompute", before, after({"0": {"Mm": 3, "Add": 1}}))
    assert "random numbers" in lost("crossed-networks", "recompute", before, after(ONE, "other"))
    assert lost("hoisted-forward", "recompute", before, after(ONE, "other")) == ""  # its noise is of that turn


def test_losses_are_added_up_between_two_steps() -> None:
    head = {"0": {"Mm": 1}}
    together = a_run(a_pass({"0": {"Mm": 3, "Add": 2}}), a_step(0))
    before = a_run(a_pass(ONE), a_pass({"0": {"Mm": 3}}, head), outcome="failed")
    assert lost("shared-forward", "combine-losses", before, together) == ""
    assert "would lose 1 operation" in lost("shared-forward", "combine-losses", before, a_run(a_pass(ONE), a_step(0)))
    stepped = a_run(a_pass(ONE), a_step(0), a_pass({"0": {"Mm": 3}}, head), outcome="failed")
    over = a_run(a_pass({"0": {"Mm": 3, "Add": 2}}), a_step(0), a_step(0))
    assert "would lose" in lost("shared-forward", "combine-losses", stepped, over)
    assert lost("shared-forward", "combine-losses", before, a_run(a_pass(ONE))) == "optimizer 1 would never step"


def test_values_stay_until_a_graph_has_changed() -> None:
    before = a_run(a_pass(ONE), a_step(0), a_pass(ONE), a_step(0), a_pass(ONE), outcome="failed")
    after = a_run(a_pass(ONE), a_step(0), a_pass(LESS), a_step(0), a_pass(LESS), a_step(0))
    assert same_values(Remedy("detach", ""), before, after) == 2
    assert same_values(Remedy("clone", ""), before, after) == 3
    assert same_values(Remedy("recompute", ""), before, after) == 0


def test_what_was_made_once_is_cut_for_every_pass_alike() -> None:
    """Targets of a network, used in every turn: the first pass must not train through them either."""
    made = Finding(
        "SP107", "stored-history", "error", "m", Place("t.py", 9), Carrier("t"), freed=Place("t.py", 9),
        facts={"why": {"facts": {"again": False, "next": None}}},
    )  # fmt: skip
    both, own = {"0": {"Mm": 2, "Max": 1}}, {"0": {"Mm": 1}}
    before = a_run(a_pass(both), a_step(0), a_pass(both, own), outcome="failed")
    stored = a_run(a_pass(own), a_step(0), a_pass(own), a_step(0))
    crossing = a_run(a_pass(both), a_step(0), a_pass(own), a_step(0))
    cut = Remedy("detach", "")
    assert missing(made, cut, before, stored, failed=True) == ""
    assert "is a constant for the later ones" in missing(made, cut, before, crossing, failed=True)
    less = a_run(a_pass({"0": {}}), a_step(0), a_pass({"0": {}}), a_step(0))
    assert "would lose 1 operation" in missing(made, cut, before, less, failed=True)


@pytest.mark.parametrize(("had", "status"), [([[0], [0], [0]], "proven"), ([[0], [], [0]], "refuted")])
def test_a_pass_goes_only_if_every_step_still_has_a_gradient(had: list[list[int]], status: str) -> None:
    given = finding("repeated-backward")
    first = {"what": "pass", "digest": "a", "behind": [[0, 0]]}
    before = Run("failed", findings=(given,), lines=(first, first))
    steps = [{"what": "step", "optimizer": 0, "had": one} for one in had]
    after = Run("ended", lines=tuple(line for step in steps for line in (first, step)))
    assert judge(given, Remedy("other", ""), before, after).proof.status == status


def twice(**facts: Any) -> Finding:
    made = finding("repeated-backward")
    made.facts.update({"moves": True, "adds": True, **facts})
    return made


def test_a_second_forward_behind_a_step_is_refuted_where_another_pass_adds_to_its_gradient() -> None:
    def run(*rest: dict[str, Any], outcome: str = "ended") -> Run:
        return a_run(
            a_pass(ONE, number=1, clean=[0]), a_step(0), a_pass(ONE, number=2, clean=[0]), *rest, outcome=outcome
        )

    again = Remedy("recompute", "")
    before = run(outcome="failed")
    stepped = run(a_step(0), a_pass(ONE, number=3, clean=[0]), a_step(0))
    mixed = run(a_pass(ONE, number=3, clean=[]), a_step(0))
    wiped = run(a_pass(ONE, number=3, clean=[0]), a_step(0))
    assert missing(twice(), again, before, stepped, failed=True) == ""
    assert "the next loss" in missing(twice(), again, before, mixed, failed=True)
    assert missing(twice(), again, before, wiped, failed=True) == UNUSED


def test_a_moved_clearing_lets_an_earlier_gradient_into_the_step() -> None:
    """`a.backward(); first.step(); second.zero_grad(); b.backward()`: the second optimizer never applied the gradient of a."""
    both = {"0": {"Mm": 1}, "1": {"Mm": 2}}
    error = finding("step-between")
    before = a_run(
        a_pass(both, number=1, clean=[0, 1]), a_step(0), a_pass({"1": {"Mm": 2}}, number=2, clean=[1]), outcome="failed"
    )
    after = a_run(
        a_pass(both, number=1, clean=[0, 1]), a_pass({"1": {"Mm": 2}}, number=2, clean=[]), a_step(0), a_step(1)
    )
    right = a_run(
        a_pass({"0": {"Mm": 1}}, number=1, clean=[0, 1]),
        a_pass({"1": {"Mm": 2}}, number=2, clean=[1]),
        a_step(0),
        a_step(1),
    )
    moved = Remedy("reorder", "")
    found = judge(error, moved, Run("failed", 1, (error,), before.lines), after)
    assert (found.proof.status, "had been cleared" in found.proof.detail) == ("refuted", True)
    found = judge(error, moved, Run("failed", 1, (error,), before.lines), right)
    assert "had been cleared" not in found.proof.detail


def test_where_nothing_failed_every_optimizer_keeps_the_gradients_of_its_first_step() -> None:
    warning = replace(finding("step-between"), severity="warning")

    def run(second: float, *order: int) -> Run:
        steps = [{**a_step(o), "had": [0], "sums": [(1.0, second)[o]], "shared": []} for o in order]
        return a_run(a_pass({"0": {"Mm": 1}}), a_pass({"1": {"Mm": 1}}), *steps)

    before = replace(run(2.0, 0, 1), findings=(warning,))
    moved = Remedy("reorder", "")
    assert judge(warning, moved, before, run(2.0, 1, 0)).proven
    assert "other gradients" in judge(warning, moved, before, run(5.0, 1, 0)).proof.detail


@pytest.mark.parametrize("target", ["", "use_reentrant"])
def test_a_checkpoint_of_the_other_kind_has_the_operations_of_inner_passes_in_its_own(target: str) -> None:
    outer = a_pass({"0": {"Add": 1, "CheckpointFunctionBackward": 2}})
    before = a_run(outer, a_pass(LESS), a_pass(LESS, {"0": {"Mm": 1}}), outcome="failed")
    good = a_run(a_pass({"0": {"Mm": 2, "Add": 2}}), a_step(0))
    bad = a_run(a_pass({"0": {"Mm": 1, "Add": 2}}), a_step(0))
    told = finding("freed-access" if not target else "ready-twice")
    other = Remedy("other", "", target=target)
    assert missing(told, other, before, good, failed=True) == ""
    assert (
        missing(told, other, before, bad, failed=True)
        == "pass 3 would lose 1 operation that lead to what is trained (Mm)"
    )
    assert "CheckpointFunction" in missing(finding("shared-forward"), Remedy("other", ""), before, good, failed=True)


def test_a_checkpoint_of_the_other_kind_gives_the_loss_the_same_value() -> None:
    before = a_run(a_pass({}, digest="a"), a_pass({}, digest="b"), outcome="failed")
    other = Remedy("other", "", target="use_reentrant")
    for digest, status in (("a", "proven"), ("c", "refuted")):
        after = a_run(a_pass({}, digest=digest), a_pass({}, digest="d"), a_pass({}, digest="e"))
        assert judge(finding("ready-twice"), other, before, after, rerun=lambda: before).proof.status == status


@pytest.mark.parametrize(("cut", "status"), [("wrap", "refuted"), ("compare", "proven")])
def test_a_loss_that_has_its_history_again_has_its_value(cut: str, status: str) -> None:
    lost = replace(finding("lost-history"), facts={"cut": cut})
    before, keep = replace(a_run(a_pass({}, value=1.0), outcome="failed"), findings=(lost,)), Remedy("keep-history", "")
    assert judge(lost, keep, before, a_run(a_pass({}, value=1.0)), rerun=lambda: before).proven
    assert judge(lost, keep, before, a_run(a_pass({}, value=3.0)), rerun=lambda: before).proof.status == status
    other = a_run(a_pass({}, value=2.0), outcome="failed")
    assert judge(lost, keep, before, a_run(a_pass({}, value=3.0)), rerun=lambda: other).proven
