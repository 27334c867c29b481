# SPDX-License-Identifier: BSD-3-Clause
"""Generators go back to where they stood, also where NumPy's state is not read again."""

from __future__ import annotations

import random

import pytest
import torch

from secondpass.keep._dice import Dice

numpy = pytest.importorskip("numpy")


def draw() -> list[float]:
    return [torch.rand(()).item(), random.random(), numpy.random.rand(), numpy.random.randn(), numpy.random.randn()]


@pytest.mark.parametrize("normals", [0, 1, 2, 3])
def test_draws_repeat(normals: int) -> None:
    """Normal numbers come in pairs: the second one waits outside of the generator's memory."""
    numpy.random.seed(3)
    dice = [Dice(())]
    for _ in range(normals):
        numpy.random.randn()
        dice.append(Dice(()))
    first = draw()
    dice[-1].restore()
    assert draw() == first
    dice[0].restore()
    for _ in range(normals):
        numpy.random.randn()
    later = Dice(())
    expected = draw()
    later.restore()
    later.restore()
    assert draw() == expected
    assert expected[2:] == first[2:]


def test_unchanged_state_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numpy.random.seed(3)
    Dice(())
    monkeypatch.delattr(numpy.random, "get_state")
    Dice(()).restore()
    numpy.random.rand()
    with pytest.raises(AttributeError):
        Dice(())


def test_another_generator() -> None:
    """Only the usual one's memory is known; all others are read in full."""
    usual = numpy.random.get_bit_generator()
    numpy.random.set_bit_generator(numpy.random.PCG64(3))
    try:
        dice = Dice(())
        first = numpy.random.rand()
        dice.restore()
        assert numpy.random.rand() == first
    finally:
        numpy.random.set_bit_generator(usual)
