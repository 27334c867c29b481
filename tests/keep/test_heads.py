# SPDX-License-Identifier: BSD-3-Clause
"""What the losses have for themselves, on the way into what they share."""

import threading

import pytest
import torch
from torch import nn

import secondpass
from secondpass.keeper.losses import chunks as _chunks
from secondpass.keeper.losses import heads as _heads
from secondpass.keeper.losses import jacobian as _jacobian
from secondpass.keeper.losses.join import join


@pytest.fixture(autouse=True, params=["together", "apart"])
def way(request, monkeypatch):
    """Only one way is known, and the budget allows to walk several losses at once."""
    monkeypatch.setattr(_chunks, "_memory", _chunks._Memory())

    def chunks(key, count, ways):
        return _chunks.Chunks(key, count, [way for way in ways if way.how == request.param])

    monkeypatch.setattr(_jacobian, "Chunks", chunks)


def same(make, inputs, budget="1GB"):
    expected = [torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True) for loss in make()]
    rows = [secondpass.grads(make(), inputs, budget=budget) for _ in range(4)]
    for found in rows:
        for row, other in zip(found, expected, strict=True):
            for one, two in zip(row, other, strict=True):
                assert (one is None) == (two is None)
                if one is not None:
                    torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


@pytest.fixture
def trunk():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8)).double()


@pytest.fixture
def heads():
    torch.manual_seed(1)
    return nn.ModuleList(nn.Linear(8, 1) for _ in range(4)).double()


X = torch.linspace(-1, 1, 20, dtype=torch.float64).reshape(5, 4)


def test_a_hook_on_what_is_shared_runs_once(trunk, heads):
    """Some turn or clip the gradient that goes into a trunk."""

    def make():
        out = trunk(X)
        out.register_hook(lambda g: g * 3)
        out.grad_fn.register_prehook(lambda g: (g[0] + 1,))
        return [head(out).square().mean() for head in heads]

    same(make, [*trunk.parameters()])
    same(make, [*trunk.parameters(), *heads.parameters()])


def test_a_hook_on_a_weight_that_all_losses_use(trunk):
    shared = torch.ones(8, dtype=torch.float64, requires_grad=True)
    shared.register_hook(lambda g: g * 2)

    def make():
        out = trunk(X)
        return [(out * shared * number).sum() + shared.sum() for number in range(1, 4)]

    same(make, [shared, *trunk.parameters()])


def test_several_ways_into_what_is_shared(trunk, heads):
    def make():
        a, b = trunk(X).chunk(2, dim=1)
        out = torch.cat([b, a], 1)
        return [
            head(out).square().mean() + out.pow(2).sum() * number + a.sin().sum() for number, head in enumerate(heads)
        ]

    same(make, [*trunk.parameters(), *heads.parameters()])


def test_losses_of_losses(trunk, heads):
    def make():
        out = trunk(X)
        first = heads[0](out).square().mean()
        second = first.exp() + heads[1](out).mean()
        return [first, second, first * second, out.sum()]

    same(make, [*trunk.parameters(), *heads.parameters()])


def test_a_loss_apart_from_the_others(trunk, heads):
    lonely = torch.ones(3, dtype=torch.float64, requires_grad=True)

    def make():
        out = trunk(X)
        return [heads[0](out).mean(), lonely.exp().sum(), heads[1](out).mean(), (lonely.detach() * heads[2].bias).sum()]

    same(make, [lonely, *trunk.parameters()])
    same(make, [*trunk.parameters(), *heads.parameters()])
    same(make, list(trunk.parameters()), budget=1)


def test_some_losses_at_a_time(trunk, heads):
    """What one head has for itself is found also where it is not walked with the first ones."""

    def make():
        out = trunk(X)
        return [head(out).square().mean() for head in heads]

    inputs = [*trunk.parameters(), *heads.parameters()]
    row = sum(value.numel() * 8 for value in inputs)
    same(make, inputs, budget=2 * (2 * row + 16 * 5 * 8 * 8) + 1)


def test_another_pass_at_the_same_time(trunk, heads, monkeypatch):
    """Its gradients, which come by the same nodes, are not ours."""
    inputs = list(trunk.parameters())
    out = trunk(X)
    found = [head(out).square().mean() for head in heads]
    expected = [torch.autograd.grad(loss, inputs, retain_graph=True) for loss in found]
    plain = torch.autograd.grad
    others = []

    def crossed(roots, *args, **options):
        result = plain(roots, *args, **options)
        if isinstance(roots, list) and not others:
            others.append(None)
            thread = threading.Thread(target=lambda: plain(found[0] * 2, inputs, retain_graph=True))
            thread.start()
            thread.join()
        return result

    monkeypatch.setattr(torch.autograd, "grad", crossed)
    rows = secondpass.grads(found, inputs, budget="1GB", retain_graph=True)
    assert others
    for row, other in zip(rows, expected, strict=True):
        for one, two in zip(row, other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_hooks_are_taken_off(trunk, heads):
    out = trunk(X)
    found = [head(out).square().mean() for head in heads]
    inputs = list(trunk.parameters())
    joined = join(found, inputs)
    first = _heads.walk_heads(joined, range(4), inputs)
    second = _heads.walk_heads(joined, range(4), inputs)
    for one, two in zip(first, second, strict=True):
        assert torch.equal(one.seeds[0], two.seeds[0])
    for node, _, _ in joined.feeds[0]:
        assert len(node.register_hook(lambda *_: None).hooks_dict_ref()) == 1
