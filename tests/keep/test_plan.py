# SPDX-License-Identifier: BSD-3-Clause
"""Plans: budgets are met and used, the least one is really enough, and only forwards like the planned one follow."""

import copy
import random

import pytest
import torch
import zoo
from torch import nn

import secondpass
from secondpass.keeper.budget.offload import send, travelling
from secondpass.keeper.budget.segments import ways

X = torch.linspace(-1, 1, 32 * 8).reshape(32, 8)


def network(block=zoo.Gated, count=8):
    zoo.seed(1)
    return zoo.Stack([block() for _ in range(count)])


def least_of(model, **options):
    with pytest.raises(secondpass.BudgetError) as caught:
        secondpass.keep(model, budget=1, **options)(X)
    return caught.value.least


def gradients(out, model):
    return torch.autograd.grad(out.pow(2).sum(), list(model.parameters()), allow_unused=True)


def same(one, other):
    return all((a is None and b is None) or torch.equal(a, b) for a, b in zip(one, other, strict=True))


class Squared(torch.autograd.Function):
    """Its node saves what PyTorch's own nodes save, too."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Shared(nn.Linear):
    """What it saves is dropped where there is no room, before a node that keep does not see holds it as well."""

    def __init__(self):
        super().__init__(8, 8)

    def forward(self, x):
        return Squared.apply(torch.tanh(super().forward(x)))


@pytest.mark.parametrize("policy", ["auto", "offload"])
@pytest.mark.parametrize("block", [zoo.Plain, zoo.Gated, zoo.Dropped, zoo.Attention, zoo.Normed, zoo.Recurrent, Shared])
def test_the_least_budget_is_really_enough(block, policy):
    """In every call and every pass, and one byte less is refused: the clock has no say in it."""
    model = network(block)
    least = least_of(model, policy=policy)
    assert least == least_of(model, policy=policy)
    kept = secondpass.keep(model, budget=least, policy=policy)
    for _ in range(3):
        out = kept(X)
        for _ in range(2):
            gradients(out, model)
            assert kept.ledger().held <= least
        del out
    with pytest.raises(secondpass.BudgetError):
        secondpass.keep(model, budget=least - 1, policy=policy)(X)


def test_room_that_is_left_is_used():
    """The more room there is, the more is held, and the less is computed again."""
    model = network()
    least = least_of(model)
    whole = secondpass.keep(model, budget="100% of full")
    out = whole(X)
    plans = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        kept = secondpass.keep(model, budget=int(least + share * (whole.budget - least)))
        out = kept(X)
        plans.append(kept.plan())
        assert kept.plan().peak <= kept.budget
        del out
    held = [plan.held for plan in plans]
    assert held == sorted(held) and held[0] < held[2] < held[4] == plans[4].bytes
    assert plans[4].recomputed == plans[4].made_again == 0


def test_cheap_ones_go_first():
    """With nearly all of the room no matrix product is run again."""
    kept = secondpass.keep(network(), budget="90% of full")
    out = kept(X)
    assert kept.plan().made_again and not kept.plan().recomputed
    del out


def test_a_part_of_a_pass_leaves_nothing_waiting():
    """It computes what others will read, who never come."""
    model = network()
    kept = secondpass.keep(model, budget=least_of(model))
    for _ in range(2):
        out = kept(X)
        before = kept.ledger().held
        torch.autograd.grad(out.sum(), [model.blocks[4].down.weight])
        assert kept.ledger().held <= before
        del out


@pytest.mark.parametrize("policy", ["recompute", "offload"])
def test_a_forward_of_another_form_does_not_follow_the_plan(policy):
    """The sizes are as planned, what is in the unit is not."""
    model = network()
    kept = secondpass.keep(model, policy=policy)
    for _ in range(2):
        gradients(kept(X), model)
    plain = model.blocks[2].forward
    for other in (lambda x: x + torch.tanh(x), lambda x: x + x.relu() * x, plain, lambda x: plain(torch.sin(x))):
        model.blocks[2].forward = other
        for _ in range(2):
            expected = gradients(model(X), model)
            out = kept(X)
            for _ in range(2):
                assert same(gradients(out, model), expected)
            del out


def test_other_sizes_have_plans_of_their_own():
    model = network()
    kept = secondpass.keep(model, budget="70% of full")
    seen = []
    for length in (32, 16, 16, 8, 8, 32, 16, 8, 32):
        out = kept(X[:length])
        expected = gradients(model(X[:length]), model)
        assert same(gradients(out, model), expected)
        if seen.count(length) > 1:  # the first one of a new size may only find out that it is one
            assert kept.ledger().held <= kept.budget == kept.plan().budget
        seen.append(length)
        del out


def test_a_frozen_part_that_learns_again():
    """`requires_grad` changes what is saved: another plan."""
    model = network()
    kept = secondpass.keep(model, policy="recompute")
    for frozen in (False, True, False, True):
        model.blocks[:3].requires_grad_(not frozen)
        model.first.requires_grad_(not frozen)
        parameters = [p for p in model.parameters() if p.requires_grad]
        expected = torch.autograd.grad(model(X).pow(2).sum(), parameters)
        out = kept(X)
        for _ in range(2):
            assert same(torch.autograd.grad(out.pow(2).sum(), parameters), expected)
        del out


def test_parts_within_parts():
    """Small units may go together, if that takes less room."""

    class Stage(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(zoo.Plain() for _ in range(4))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    zoo.seed(1)
    model = zoo.Stack([Stage() for _ in range(6)])
    small = secondpass.keep(copy.deepcopy(model), policy="recompute")
    out = small(X)
    assert {line.unit for line in small.plan().lines if line.unit} & {f"blocks.{n}.layers" for n in range(6)}
    expected = gradients(model(X), model)
    del out
    kept = secondpass.keep(model, policy="recompute")
    for _ in range(2):
        assert same(gradients(kept(X), model), expected)


def test_ways_to_cut():
    names = ["", "a.0.x", "a.0.y", "", "a.1.x", "a.1.y", "a.2.x", "", "a.3.x", ""]
    found = ways(list(range(10)), names)
    assert found[0].names == names
    assert found[1].names == ["", "a.0", "a.1", "a.2", "a.3"]
    assert found[1].segments == [0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert len(found) == 2
    assert len({way.pieces for way in ways([0, 0], [""])}) > 2


def test_every_unit_sends_its_largest_before_any_sends_a_second():
    units = [[(0, 3), (4, 1), (7, 4)]] * 4
    assert send(units, 5, 100) == [frozenset()] * 4
    sent = send(units, 5, 5 + 4 * 8 - 3 * 4 + 8)
    assert sent == [frozenset({7})] * 3 + [frozenset()]
    assert send(units, 5, 5 + 4 * 4 + 8) == [frozenset({7})] * 4
    assert send(units, 5, 5 + 2 * 8) == [frozenset({0, 4, 7})] * 4
    assert send(units, 5, 5 + 2 * 8 - 1) is None


def test_what_is_sent_leaves_enough_room():
    dice = random.Random(1)
    for _ in range(300):
        units = [[(n, dice.randrange(1, 9)) for n in range(dice.randrange(4))] for _ in range(dice.randrange(1, 6))]
        fixed, budget = dice.randrange(10), dice.randrange(5, 60)
        sent = send(units, fixed, budget)
        everything = [frozenset(n for n, _ in unit) for unit in units]
        if sent is None:
            assert fixed + travelling(units, everything) > budget
            continue
        held = sum(size for unit, numbers in zip(units, sent, strict=True) for n, size in unit if n not in numbers)
        assert fixed + held + travelling(units, sent) <= budget


@pytest.mark.parametrize("block", [zoo.Plain, zoo.Gated, zoo.Dropped, zoo.Attention, zoo.Normed, zoo.Recurrent])
def test_what_real_models_are_made_of_can_be_computed_again(block):
    """Nothing of the usual layers is held because it came out differently."""
    kept = secondpass.keep(network(block), policy="recompute")
    out = kept(X)
    assert not any("did not give the same result" in line.why for line in kept.ledger().lines)
    assert kept.plan().held < 0.5 * kept.plan().bytes
    del out


def test_a_call_that_is_over_leaves_its_room_to_the_next(monkeypatch):
    """Its graph is alive as long as its name is, and that is given to the next one only when it is there."""
    monkeypatch.setattr("secondpass.keeper.call.GRAPH", 1300)
    model = network()
    least = least_of(model)
    kept = secondpass.keep(model, budget=2 * least)
    for budget in (2 * least, least + 1000):
        kept.budget = budget
        for _ in range(2):
            out = kept(X)
            out.sum().backward()
            out.mean().backward()


def test_warnings_point_at_the_users_line():
    model = network()
    with pytest.warns(UserWarning, match="least that can be met") as caught:
        secondpass.keep(model, budget="1% of full")(X)
    assert [warning.filename for warning in caught] == [__file__]
