# SPDX-License-Identifier: BSD-3-Clause

"""A seed means the same numbers as in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch as pytorch

import secondpass.autograd as torch


@pytest.mark.parametrize("draw", [
    "randn(3)", "randn(16)", "randn(4, 5, 6)", "randn(50, dtype=torch.float64)", "randn(5, dtype=torch.float64)", "rand(7)",
    "rand(7, dtype=torch.float64)", "randperm(20)", "randint(0, 9, (4,))", "randint(5, (2, 2))", "nn.Linear(4, 3).weight.detach()",
    "nn.LSTMCell(4, 3).bias_hh.detach()", "nn.Embedding(9, 3).weight.detach()",
    "empty(20).uniform_(-1, 1)", "empty(20).normal_(1, 2)",
])  # fmt: skip
def test_a_seed_means_the_same(draw: str) -> None:
    found = []
    for lib in (torch, pytorch):
        lib.manual_seed(3)
        eval(f"torch.{draw}", {"torch": lib})
        found.append(eval(f"torch.{draw}", {"torch": lib}).numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


def test_a_generator_has_a_state_of_its_own() -> None:
    g = torch.Generator().manual_seed(5)
    first = torch.randn(4, generator=g)
    torch.manual_seed(5)
    assert torch.equal(first, torch.randn(4))
    kept = g.get_state()
    second = torch.randn(4, generator=g)
    g.set_state(kept)
    assert torch.equal(second, torch.randn(4, generator=g))
