# SPDX-License-Identifier: BSD-3-Clause
"""What a pass's graph is made of."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from secondpass.torchgraph import Leaves  # noqa: E402
from secondpass.watcher.shape import Shapes  # noqa: E402


class Reader:
    """One optimizer per tensor, in the order in which they are given."""

    def __init__(self, *trained: Any) -> None:
        self.leaves, self.shapes = Leaves(), Shapes()
        self.owners = {self.leaves.number(leaf): [(i, 0)] for i, leaf in enumerate(trained)}

    def __call__(self, root: Any, inputs: tuple[Any, ...] | None = None, frees: bool = True) -> dict[str, Any]:
        numbers = None if inputs is None else tuple(self.leaves.behind(i) for i in inputs)
        return self.shapes.of([root], self.leaves.of, lambda leaf: self.owners.get(leaf, ()), numbers, frees)


def leaf() -> Any:
    return torch.ones(3, requires_grad=True)


def test_what_a_pass_has_freed_is_old_for_the_next() -> None:
    w = leaf()
    read = Reader(w)
    h = (w * 2).exp()
    assert read(h.sum())["fresh"] == {"0": {"MulBackward0": 1, "ExpBackward0": 1, "SumBackward0": 1}}
    second = read((h * w).sin().sum())
    assert second["old"] == {"0": {"MulBackward0": 1, "ExpBackward0": 1}}
    assert second["fresh"] == {"0": {"SinBackward0": 1, "SumBackward0": 1}}  # `h * w` joins old and new
    assert second["pure"] == {}
    assert second["whole"] == {"0": {"MulBackward0": 2, "ExpBackward0": 1, "SinBackward0": 1, "SumBackward0": 1}}


def test_a_graph_that_is_kept_stays_fresh() -> None:
    w = leaf()
    read = Reader(w)
    h = w.exp()
    read(h.sum(), frees=False)
    assert read(h.sin())["old"] == {}


def test_each_player_has_what_leads_to_its_own() -> None:
    g, d = leaf(), leaf()
    read = Reader(g, d)
    fake = g.exp()
    found = read((fake * d).sum())
    assert found["behind"] == [(0, 0), (1, 0)]
    assert found["whole"]["0"] == {"ExpBackward0": 1, "MulBackward0": 1, "SumBackward0": 1}
    assert found["whole"]["1"] == {"MulBackward0": 1, "SumBackward0": 1}
    assert read((fake.detach() * d).sum())["behind"] == [(1, 0)]


def test_a_pass_that_stops_at_inputs_reaches_only_these() -> None:
    g, d = leaf(), leaf()
    read = Reader(g, d)
    fake = g.exp()
    assert read((fake * d).sum(), inputs=(d,))["behind"] == [(1, 0)]
    assert read(fake.sum())["old"] == {}  # the way to `g` was not walked


def test_what_scales_a_number_goes_with_the_sum() -> None:
    w = leaf()
    read = Reader(w)
    found = read(w.exp().sum() * 4 / 3)
    assert found["fresh"]["0"] == {"ExpBackward0": 1, "SumBackward0": 1, "MulBackward0": 1, "DivBackward0": 1}
    assert found["pure"]["0"] == {"ExpBackward0": 1, "SumBackward0": 1}


def test_leaves_that_nobody_owns_count_when_they_are_met_again() -> None:
    w = leaf()
    read = Reader()
    assert read(w.exp())["whole"] == {}
    assert read(w.exp())["whole"] == {"-1": {"ExpBackward0": 1}}


def test_the_end_of_a_state_that_no_loss_went_into_is_not_of_this_turn() -> None:
    w = leaf()
    read = Reader(w)
    state = (w * 2).exp()
    read(state.sum())
    state = state * w.exp()  # behind the loss
    read.shapes.stepped(0, torch.autograd._get_sequence_nr())
    found = read((state.tanh() * w.sin()).sum())
    fresh = {"ExpBackward0": 1, "TanhBackward0": 1, "SinBackward0": 1, "MulBackward0": 1, "SumBackward0": 1}
    assert found["fresh"] == {"0": fresh}
    assert found["turn"] == {"0": {"SinBackward0": 1, "MulBackward0": 1, "SumBackward0": 1}}
