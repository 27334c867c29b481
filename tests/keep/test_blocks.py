# SPDX-License-Identifier: BSD-3-Clause
"""`with kept(...)` around any code; plans; budgets that are shares, and that change."""

import contextlib
import copy
import warnings

import pytest
import torch
from programs import differences, seed
from test_side_effects import Stack
from torch import nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import secondpass
from secondpass.keeper.keeper import Keeper

X = torch.linspace(-1, 1, 64).reshape(8, 8)
OPTIONS = {
    "everything": {}, "retain": {"policy": "retain"}, "recompute": {"policy": "recompute"},
    "offload": {"policy": "offload"}, "budget": {"budget": "60% of full"}, "plenty": {"budget": "1GB"},
}  # fmt: skip


def two_models():
    seed(0)
    return Stack(), nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Dropout(0.2), nn.Linear(16, 8))


def forward(first, second):
    hidden = first(X) * 2
    out = second(torch.sin(hidden))
    return [out[:, 0].sum(), out.pow(2).mean(), (hidden * out).abs().mean()]


def gradients(losses, parameters, retain):
    found = []
    for loss in losses:
        found += torch.autograd.grad(loss, parameters, retain_graph=retain, allow_unused=True)
    return found


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_block_of_code(options):
    """Several models, plain functions and the losses themselves."""
    models = two_models()
    parameters = [p for model in models for p in model.parameters()]
    for _ in range(3):
        seed(1)
        expected = gradients(forward(*models), parameters, True)
        seed(1)
        with secondpass.kept(**options) as block:
            losses = forward(*models)
        assert differences(gradients(losses, parameters, None), expected) == []
        assert "keep" in str(block.ledger())
        del losses


def forwards(layer, x):
    with forward_ad.dual_level():
        y, slope = forward_ad.unpack_dual(torch.tanh(layer(forward_ad.make_dual(x, torch.ones_like(x)))))
        return y * slope


def by_rows(layer, x):
    return 2 * torch.func.vmap(lambda row: torch.tanh(layer(row)))(x)


def checkpointed(layer, x):
    return checkpoint(lambda y: torch.tanh(layer(y)).exp(), x, use_reentrant=False)


def jacobians(layer, x):
    slopes = torch.func.vmap(torch.func.jacrev(lambda row: torch.sin(row) * row))(x)
    return torch.tanh(layer(x)) + slopes.sum(-1)


def penalised(layer, x):
    """A pass in the midst of the block."""
    for _ in range(3):
        x = torch.tanh(layer(x))
        (slope,) = torch.autograd.grad(x.sum(), layer.weight, create_graph=True)
        x = x + (slope.norm(2, -1) - 1) ** 2
    return x


@pytest.mark.parametrize("unseen", [forwards, by_rows, checkpointed, jacobians, penalised])
@pytest.mark.filterwarnings("ignore:secondpass.keep")
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_block_of_which_nothing_is_seen(options, unseen):
    """Or hardly anything: no node of it holds anything of keep's, and passes may follow nevertheless."""
    layer, x = nn.Linear(8, 8), X[:4]
    out = unseen(layer, x)
    expected = [torch.autograd.grad(loss, layer.weight, retain_graph=True) for loss in (out.sum(), out.pow(2).sum())]
    for _ in range(3):
        with secondpass.kept(**options):
            out = unseen(layer, x)
        found = [torch.autograd.grad(loss, layer.weight) for loss in (out.sum(), out.pow(2).sum())]
        assert [differences(a, b) for a, b in zip(expected, found, strict=True)] == [[], []]


def test_the_same_block_follows_its_plan():
    models = two_models()
    plans = []
    for _ in range(3):
        with secondpass.kept(budget="70% of full") as block:
            losses = forward(*models)
        plans.append(block.plan())
        losses[0].backward()
        del losses
    assert plans[0] is plans[1] is plans[2]


def test_passes_within_the_block():
    models = two_models()
    parameters = [p for model in models for p in model.parameters()]
    seed(1)
    expected = gradients(forward(*models), parameters, True)
    for _ in range(2):
        seed(1)
        with secondpass.kept(policy="recompute"):
            found = gradients(forward(*models), parameters, None)
        assert differences(found, expected) == []


def test_a_block_that_fails_leaves_nothing():
    (model, _) = two_models()
    with pytest.raises(ZeroDivisionError), secondpass.kept(budget="1MB") as block:
        model(X)
        raise ZeroDivisionError
    assert block.ledger().lines == ()


def test_a_block_does_not_nest_in_itself():
    block = secondpass.kept()
    with block, pytest.raises(ValueError, match="open already"), block:
        pass


def test_blocks_in_blocks():
    models = two_models()
    parameters = [p for model in models for p in model.parameters()]
    seed(1)
    expected = gradients(forward(*models), parameters, True)
    for outer in (options for name, options in OPTIONS.items() if name != "budget"):
        for inner in ({"policy": "recompute"}, {}):
            seed(1)
            with secondpass.kept(**outer):
                with secondpass.kept(**inner):
                    hidden = models[0](X) * 2
                out = models[1](torch.sin(hidden))
                losses = [out[:, 0].sum(), out.pow(2).mean(), (hidden * out).abs().mean()]
            assert differences(gradients(losses, parameters, None), expected) == []
            del losses, hidden, out


def test_a_plan_before_the_first_pass():
    model, _ = two_models()
    kept = secondpass.keep(model, budget="60% of full")
    with pytest.raises(secondpass.KeepError, match="there is no plan"):
        kept.plan()
    out = kept(X)
    plan = kept.plan()
    assert plan.peak <= plan.budget == kept.budget
    assert plan.held + plan.made_again + plan.recomputed + plan.offloaded == plan.bytes
    assert plan.seconds > 0 and plan.made_again + plan.recomputed > 0
    assert "expected: peak" in str(plan) and "blocks.0" in str(plan)
    out.sum().backward()
    retained = secondpass.keep(model)
    out = retained(X)
    assert retained.plan().held == retained.plan().bytes == plan.bytes


def test_a_share_of_what_retain_graph_takes():
    model, _ = two_models()
    everything = secondpass.keep(model, budget="100% of full")
    out = everything(X)
    assert everything.plan().held == everything.plan().bytes
    assert everything.plan().peak == everything.budget
    half = secondpass.keep(model, budget="60% of full")
    out = half(X)
    assert half.budget == pytest.approx(0.6 * everything.budget, abs=1)
    assert half.ledger().held <= half.budget
    del out


def test_a_budget_that_changes():
    model, _ = two_models()
    parameters = list(model.parameters())
    kept = secondpass.keep(model, budget="100% of full")
    expected = gradients([model(X).sum()], parameters, False)
    out = kept(X)
    before, whole = kept.ledger().held, kept.budget
    kept.budget = int(0.7 * whole)
    assert kept.budget == int(0.7 * whole) and kept.ledger().held < before
    assert differences(gradients([out.sum()], parameters, None), expected) == []
    out = kept(X)
    assert kept.plan().peak <= 0.7 * whole
    with pytest.raises(secondpass.KeepError, match="change the budget when its graph is gone"):
        kept.budget = 16
    assert kept.budget == int(0.7 * whole)
    del out
    kept.budget = "2GB"
    kept(X)
    assert kept.plan().held == kept.plan().bytes
    with pytest.raises(ValueError, match="`budget` should be"):
        kept.budget = "much"
    for policy in ("retain", "recompute"):
        with pytest.raises(ValueError, match="no effect"):
            secondpass.keep(model, policy=policy).budget = "1GB"


def test_a_budget_where_everything_was_held():
    model, _ = two_models()
    kept = secondpass.keep(model)
    out = kept(X)
    with pytest.raises(secondpass.KeepError, match="held by PyTorch itself"):
        kept.budget = "1GB"
    out.sum().backward()
    del out
    kept.budget = "70% of full"
    out = kept(X)
    assert kept.plan().held < kept.plan().bytes
    out.sum().backward()


def test_an_unexpected_pass_is_told_once_with_its_place():
    model, _ = two_models()
    kept = secondpass.keep(model, policy="recompute", passes=1)
    out = kept(X)
    out.sum().backward()
    with pytest.warns(UserWarning, match=rf"{__name__}.py:\d+ runs pass 2 .*passes=2"):
        out.mean().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out.mean().backward()


class Trunk(nn.Module):
    """All of it is one `Sequential`."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(*(nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 8)) for _ in range(8)))
        self.others = nn.ModuleDict({"a": nn.Linear(8, 8), "b": nn.Linear(8, 8)})

    def forward(self, x):
        return self.others["a"](self.features(x))


def test_units():
    seed(0)
    trunk = Trunk()
    kept = secondpass.keep(trunk, budget="80% of full")
    out = kept(X)
    names = {line.unit for line in kept.plan().lines}
    assert {f"features.{n}" for n in range(8)} <= names
    assert "others" not in names and "features" not in names
    with pytest.raises(ValueError, match="modules that are called: `others` is a ModuleDict"):
        secondpass.keep(trunk, budget="1GB", units=[trunk.others])
    kept = secondpass.keep(trunk, budget="80% of full", units=lambda module: isinstance(module, nn.Sequential))
    out = kept(X)
    with pytest.raises(ValueError, match="the function chose none"):
        secondpass.keep(trunk, units=lambda module: False)
    kept = secondpass.keep(trunk, budget="1GB", units=["features", "others.b"])
    with pytest.warns(UserWarning, match=r"unit `others\.b` never ran"):
        out = kept(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = kept(X)
        out = secondpass.keep(trunk, policy="retain", units=["features"])(X)
    del out


def test_a_long_function_without_units_is_cut():
    weights = [torch.full((16, 16), 0.1, requires_grad=True) for _ in range(24)]

    def function(x):
        for weight in weights:
            x = torch.tanh(x @ weight) * 0.5 + x
        return x

    x = torch.ones(64, 16)
    expected = torch.autograd.grad(function(x).sum(), weights)
    kept = secondpass.keep(function, budget="40% of full")
    for _ in range(2):
        out = kept(x)
        assert kept.plan().peak <= kept.budget
        for _ in range(2):
            assert differences(list(torch.autograd.grad(out.sum(), weights)), list(expected)) == []


def test_copies_share_nothing():
    model, _ = two_models()
    kept = secondpass.keep(model, budget="1GB")
    again = copy.deepcopy(kept)
    again.budget = "2GB"
    assert kept.budget == 10**9


@pytest.mark.parametrize("options", [{}, {"policy": "retain"}, {"policy": "recompute"}, {"budget": "50% of full"}])
@pytest.mark.filterwarnings("ignore:secondpass")
def test_blocks_in_generators_that_take_turns(options):
    """They do not end in the order in which they began: each keeps what is its own, and PyTorch is left as it was."""

    def steps(weight, block):
        with block:
            y = torch.tanh(X @ weight)
            yield y
            y = (y * y).sin()
            yield y
        yield y.exp()

    def run(*blocks):
        weights = [torch.eye(8).requires_grad_() for _ in blocks]
        found = []
        for turns in zip(*map(steps, weights, blocks), strict=True):
            for y in turns:
                y.pow(2).sum().backward(retain_graph=True)
            found += [weight.grad.clone() for weight in weights]
        return found

    expected = run(*(contextlib.nullcontext() for _ in range(3)))
    for _ in range(3):
        found = run(*(secondpass.kept(**options) for _ in range(3)))
        assert all(map(torch.equal, found, expected))
        assert not torch.overrides._get_current_function_mode_stack()


def test_a_share_of_which_another_thread_has_taken_more_meanwhile(monkeypatch):
    """The least that can be met is taken, and that is there already."""
    plain = Keeper.take_least

    def later(self, least):
        self.budget = max(self.budget, 2 * least)
        return plain(self, least)

    monkeypatch.setattr(Keeper, "take_least", later)
    weight = torch.eye(8).requires_grad_()
    kept = secondpass.keep(lambda x: torch.tanh(x @ weight).sin(), budget="1% of full")
    out = kept(X)
    (first,) = torch.autograd.grad(out.sum(), weight)
    assert torch.equal(torch.autograd.grad(out.sum(), weight)[0], first)
