# SPDX-License-Identifier: BSD-3-Clause
"""Results of linear layers that a plan leaves out come back the same in every bit, and only where they may."""

import copy

import pytest
import torch
import zoo
from test_derived import budgets, rows, same
from torch import nn
from torch.nn import functional

import secondpass


class Feed(nn.Module):
    """The usual half of a block. Its norm makes the layer's input, its activation the next one's."""

    def __init__(self, bias=True):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 32, bias=bias), nn.Linear(32, 8, bias=bias)

    def forward(self, x):
        return x + self.down(functional.gelu(self.up(self.norm(x))))


class Attention(nn.Module):
    """One layer whose result is read in three parts."""

    def __init__(self):
        super().__init__()
        self.norm, self.all, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.all(self.norm(x)).view(4, 3, 2, 4).permute(1, 2, 0, 3)
        y = functional.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(0, 1).reshape(4, 8))


class Chain(Feed):
    """Layers of layers: a result is made from a result."""

    def __init__(self):
        super().__init__()
        self.more = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))

    def forward(self, x):
        h = self.up(x)
        for layer in self.more:
            h = functional.silu(layer(h)) * torch.sigmoid(h)
        return x + self.down(h)


class Written(Feed):
    """Writes to the result of a layer."""

    def forward(self, x):
        h = self.up(self.norm(x))
        with torch.no_grad():
            h.mul_(2.0)
        return x + self.down(functional.gelu(h))


class BehindTheBack(Feed):
    """The same, without a version telling so."""

    def forward(self, x):
        h = self.up(self.norm(x))
        h.data.mul_(2.0)
        return x + self.down(functional.gelu(h))


class Frozen(Feed):
    """A bias that is no parameter that learns: the graph does not know it."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 32, bias=False)
        self.register_buffer("shift", torch.ones(32))

    def forward(self, x):
        h = functional.linear(self.norm(x), self.up.weight, self.shift)
        return x + self.down(functional.gelu(h))


class Scaled(Feed):
    """An addition that is no layer."""

    def forward(self, x):
        h = torch.addmm(self.up.bias, self.norm(x), self.up.weight.t(), beta=0.5, alpha=2.0)
        return x + self.down(functional.gelu(h))


BLOCKS = {
    "feed": Feed,
    "no bias": lambda: Feed(bias=False),
    "attention": Attention,
    "gated": zoo.Gated,
    "chain": Chain,
    "written": Written,
    "behind the back": BehindTheBack,
    "frozen": Frozen,
    "scaled": Scaled,
}
LEFT_OUT = {"feed", "no bias", "attention", "gated", "chain"}


@pytest.fixture(autouse=True)
def layers_take_no_time(monkeypatch):
    """Models are small here, and the clock would say something else each time."""
    from secondpass.keep import _making

    monkeypatch.setattr(_making, "moment", lambda _: 0.0)


def left_out(kept):
    return [fate.without or frozenset() for _, fate in kept._keeper._plan]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_budget_gives_the_same_bits(name):
    zoo.seed(1)
    model = zoo.Stack([BLOCKS[name]() for _ in range(4)])
    expected, some = rows(model, model, True), False
    for budget in budgets(model):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=budget)
        for _ in range(3):
            assert same(rows(again, kept, False), expected)
        assert kept._keeper.most <= budget
        some |= any(left_out(kept))
    assert some == (name in LEFT_OUT)


def lean(block=Feed, count=4):
    zoo.seed(1)
    model = zoo.Stack([block() for _ in range(count)])
    for budget in budgets(model):
        kept = secondpass.keep(model, budget=budget)
        for _ in range(2):
            out = kept(torch.randn(4, 8))
            out.sum().backward()
            out.mean().backward()
        del out
        if left_out(kept)[0]:
            return model, kept
    raise AssertionError("no budget left anything out")


def test_the_ledger_tells():
    _, kept = lean()
    out = kept(torch.randn(4, 8))
    (line, *_) = kept.ledger().lines
    assert line.why == "within the budget, 1 layer made again"
    assert line.held < line.bytes / 2
    before = kept.ledger().held
    out.sum().backward()
    assert kept.ledger().held == before  # nothing waits after a pass


def test_a_part_of_a_pass_leaves_nothing_waiting():
    """It needs what is made from the layer's result, and never comes to the node that would read that itself."""
    model, kept = lean()
    out = kept(torch.randn(4, 8))
    frame = next(iter(kept._keeper.frames))
    before = kept.ledger().lines[0].held
    torch.autograd.grad(out.sum(), [model.blocks[0].down.weight])
    assert not any(run._waiting for run in frame.live())
    assert kept.ledger().lines[0].held == before


def test_a_changed_bias_raises_the_native_error():
    model, kept = lean()
    out = kept(torch.randn(4, 8))
    with torch.no_grad():
        model.blocks[0].up.bias.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_call_of_another_form_is_not_taken_for_the_planned_one():
    """The sizes are as planned, what is in the unit is not."""
    model, kept = lean()
    block = model.blocks[0]
    block.forward = lambda x: x + torch.tanh(x)
    expected = torch.autograd.grad(model(torch.ones(4, 8)).sum(), [model.first.weight])
    assert same([torch.autograd.grad(kept(torch.ones(4, 8)).sum(), [model.first.weight])], [expected])
    block.forward = lambda x: block.down(block.down(functional.gelu(block.up(x))).tanh() @ block.down.weight)
    expected = torch.autograd.grad(model(torch.ones(4, 8)).sum(), [model.first.weight])
    assert same([torch.autograd.grad(kept(torch.ones(4, 8)).sum(), [model.first.weight])], [expected])


def test_second_derivatives():
    def second(call, model):
        x = torch.linspace(-1, 1, 32).reshape(4, 8).requires_grad_()
        (slope,) = torch.autograd.grad(call(x).pow(2).sum(), [x], create_graph=True)
        return torch.autograd.grad(slope.pow(2).sum(), list(model.parameters()), allow_unused=True)

    for block in (Feed, Attention, Chain):
        model, kept = lean(block)
        assert same([second(kept, model)], [second(model, model)])


def test_a_parameter_that_is_not_here():
    """FSDP empties the memory of a parameter behind its forward: then nothing is made from it."""
    zoo.seed(1)
    model = zoo.Stack([Feed() for _ in range(4)])
    bias = model.blocks[0].up.bias
    full = torch.arange(32.0)

    class Away(Feed):
        def forward(self, x):
            self.up.bias.untyped_storage().resize_(128)
            self.up.bias.data.copy_(full)
            found = super().forward(x)
            self.up.bias.untyped_storage().resize_(0)
            return found

    for budget in budgets(model):
        kept = secondpass.keep(model, budget=budget)
        model.blocks[0].__class__ = Feed
        bias.untyped_storage().resize_(128)
        bias.data.copy_(full)
        expected = rows(model, model, True)
        model.blocks[0].__class__ = Away
        for _ in range(3):
            assert same(rows(model, kept, False), expected)
        assert not left_out(kept)[0]
    bias.untyped_storage().resize_(128)


def test_what_waits_is_counted():
    """The result of the activation is made from that of the layer, and that one from the norm's: both wait."""
    _, kept = lean()
    out = kept(torch.randn(4, 8))
    frame = next(iter(kept._keeper.frames))
    run = frame.live()[0]
    layer, norm = 4 * 32 * 4, 4 * 8 * 4
    assert run.waiting(run.left_out) == layer + norm
    most = []
    grew = frame.grew

    def note(run, size, again=False):
        grew(run, size, again)
        most.append(sum(recipe.nbytes for recipe in run._waiting))

    frame.grew = note
    out.sum().backward()
    del frame.grew
    assert max(most) == layer + norm
