# SPDX-License-Identifier: BSD-3-Clause
"""An operation that draws random numbers draws the same ones again, and nobody else's are touched."""

import threading

import pytest
import torch

from secondpass.keeper.recompute.rng import Draw


def test_draws_repeat_and_the_generator_stays():
    torch.manual_seed(3)
    draw = Draw(torch.device("cpu"))
    first = torch.rand(4)
    draw.done()
    torch.rand(7)
    state = torch.get_rng_state()
    with draw.again():
        assert torch.equal(torch.rand(4), first)
    assert torch.equal(torch.get_rng_state(), state)


def test_another_thread_that_draws_meanwhile_is_noticed():
    draw = Draw(torch.device("cpu"))
    torch.rand(4)
    draw.done()
    with pytest.raises(Draw.disturbed), draw.again():
        torch.rand(4)
        thread = threading.Thread(target=lambda: torch.rand(1))
        thread.start()
        thread.join()
