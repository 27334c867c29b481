# SPDX-License-Identifier: BSD-3-Clause
"""A clear error or the right thing: never a wrong gradient, and nothing lost."""

import itertools
import re

import pytest
import torch
import zoo
from torch import nn

import secondpass
from secondpass import BudgetError
from secondpass.keeper.budget.size import parse_budget, readable


def network(block=zoo.Plain):
    zoo.seed(3)
    return zoo.stack(block)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (1000, 1000), ("2GB", 2 * 10**9), ("1.5 GiB", 3 * 2**29), ("512MiB", 2**29), ("7", 7), (".5k", 500),
        ("10 kb", 10_000), (2.5e9, 2_500_000_000),
    ],
)  # fmt: skip
def test_budgets(written, size):
    assert parse_budget(written) == size


def test_shares_of_free_memory():
    whole = parse_budget(1.0)
    assert 0 < parse_budget("10%") < whole and abs(parse_budget(0.1) * 10 - whole) < 0.2 * whole
    assert parse_budget(None) is None


@pytest.mark.parametrize("written", ["", "much", "2 parsecs", "-1GB", 0, -5, "0GB", "120%", float("nan"), float("inf")])
def test_budgets_that_mean_nothing(written):
    with pytest.raises(ValueError, match="`budget` should be"):
        secondpass.keep(network(), budget=written)


@pytest.mark.parametrize("written", [True, [1], {}])
def test_budgets_of_a_wrong_type(written):
    with pytest.raises(TypeError, match="`budget` should be"):
        secondpass.keep(network(), budget=written)


def test_readable():
    assert [readable(n) for n in (5, 1500, 2 * 10**6, 3.25e9, 4e12)] == [
        "5 B", "1.50 KB", "2.00 MB", "3.25 GB", "4.00 TB",
    ]  # fmt: skip


def test_a_budget_that_cannot_be_met_says_the_least_that_can():
    model, x = network(), torch.randn(16, 8)
    with pytest.raises(BudgetError, match="the least that can is") as caught:
        secondpass.keep(model, budget=100)(x)
    least = int(re.findall(r"\((\d+) bytes\)", str(caught.value))[1])
    kept = secondpass.keep(model, budget=least)
    out = kept(x)
    out.sum().backward()
    out.sum().backward()
    del out
    with pytest.raises(BudgetError):
        secondpass.keep(model, budget=least - 1)(x)


def test_units():
    model = network()
    with pytest.raises(ValueError, match="parts of the model, and this one is not"):
        secondpass.keep(model, units=[nn.Linear(2, 2)], budget=1)
    with pytest.raises(ValueError, match="it has no LSTM"):
        secondpass.keep(model, units=nn.LSTM)
    with pytest.raises(ValueError, match="`units` should be 'auto'"):
        secondpass.keep(model, units="blocks")
    with pytest.raises(TypeError, match="`units` should be"):
        secondpass.keep(model, units=3)
    with pytest.raises(TypeError, match="list of modules where a function is kept"):
        secondpass.keep(lambda x: x, units=[3], policy="recompute")


def test_policies_and_passes():
    with pytest.raises(ValueError, match="`policy` should be one of auto, retain, recompute, offload"):
        secondpass.keep(network(), policy="forget")
    with pytest.raises(ValueError, match="`passes` should be"):
        secondpass.keep(network(), passes=0)
    with pytest.raises(TypeError, match="a module or a function"):
        secondpass.keep(3)


class Moody(zoo.Plain):
    """Does something else every time it runs."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        turn = next(MOODS)
        y = super().forward(x)
        if self.kind == "values":
            return torch.sin(y * turn)
        if self.kind == "shapes":
            return torch.sin(y.repeat(turn, 1))[: len(y)]
        for _ in range(turn):
            y = torch.sin(y)
        return y


MOODS = itertools.count(1)


@pytest.fixture
def moods():
    """Sets how the next forwards will be."""
    global MOODS

    def start(numbers):
        global MOODS
        MOODS = iter(numbers)

    yield start
    MOODS = itertools.count(1)


@pytest.mark.parametrize(
    "options", [{"policy": "recompute"}, {"policy": "offload"}, {"budget": "90% of full"}], ids=str
)
@pytest.mark.parametrize("kind", ["values", "shapes", "operations"])
def test_a_forward_that_does_something_else_every_time(kind, options, moods):
    """Each pass is over the forward that ran, never over another one."""
    zoo.seed(0)
    model = zoo.Stack([zoo.Plain(), Moody(kind), *(zoo.Plain() for _ in range(4))])
    x, parameters = torch.randn(4, 8), list(model.parameters())
    kept = secondpass.keep(model, units=[*model.blocks], **options)
    for mood in (1, 2, 1, 3, 3, 2):
        moods([mood])
        expected = torch.autograd.grad(model(x).pow(2).sum(), parameters)
        moods([mood])
        out = kept(x)
        moods([])  # nobody asks again
        for _ in range(2):
            got = torch.autograd.grad(out.pow(2).sum(), parameters)
            assert all(torch.equal(a, b) for a, b in zip(got, expected, strict=True))


OPTIONS = [{"policy": "retain"}, {"policy": "recompute"}, {"policy": "offload"}, {"budget": "1MB"}]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_changed_parameters_and_arguments_raise_the_native_error(options):
    model = network()
    kept = secondpass.keep(model, **options)
    x = torch.randn(4, 8, requires_grad=True)
    y = x * 1.0
    out = kept(y)
    with torch.no_grad():
        model.blocks[1].up.weight.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
    del out
    out = kept(x * 1.0)
    out.sum().backward()


def test_an_exception_in_the_forward_leaves_nothing():
    class Failing(zoo.Plain):
        def forward(self, x):
            super().forward(x)
            raise ZeroDivisionError

    model = network(Failing)
    for policy in ("retain", "recompute", "offload"):
        kept = secondpass.keep(model, policy=policy)
        with pytest.raises(ZeroDivisionError):
            kept(torch.randn(4, 8))
        assert kept.ledger().lines == ()
        assert "_compiled_call_impl" not in vars(model.blocks[0])
