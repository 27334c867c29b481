# SPDX-License-Identifier: BSD-3-Clause
"""Buffers that others make are not held, come out the same in every bit, and are left alone where they might not."""

import copy

import pytest
import torch
import zoo
from torch.nn import functional

import secondpass


class Bare(zoo.Gated):
    """A norm that is called past its module, with another epsilon."""

    def forward(self, x):
        h = functional.layer_norm(x, (8,), self.norm.weight, self.norm.bias, 0.5)
        return x + self.down(functional.gelu(self.gate(h), approximate="tanh") * self.up(h))


class Written(zoo.Gated):
    """Writes to what was made, without autograd knowing."""

    def forward(self, x):
        h = self.norm(x)
        a = functional.silu(self.gate(h))
        with torch.no_grad():
            a.mul_(2.0)
        return x + self.down(a * self.up(h))


class BehindTheBack(zoo.Gated):
    """The same, without even a version telling so."""

    def forward(self, x):
        a = functional.gelu(self.gate(self.norm(x)))
        a.data.mul_(2.0)
        return x + self.down(a)


class Both(zoo.Gated):
    """One result read by two products, as a whole and in part."""

    def forward(self, x):
        a = functional.mish(self.gate(self.norm(x)))
        return x + self.down(a) + (a[:, :8] @ self.down.weight[:, :8]) + functional.hardswish(a)[:, 8:16] * x


class Dropped(zoo.Gated):
    """Saves noise, and constants that look like it until one looks closer."""

    def forward(self, x):
        constant = torch.linspace(-1, 1, 32).reshape(4, 8)
        h = functional.dropout(super().forward(x), 0.3)
        return x + functional.dropout(self.norm(h) * constant, 0.5)


BLOCKS = {
    "dropped": Dropped,
    "silu": zoo.Gated,
    "gelu": lambda: zoo.Gated(functional.gelu),
    "tanh": lambda: zoo.Gated(torch.tanh),
    "bare": Bare,
    "written": Written,
    "behind the back": BehindTheBack,
    "both": Both,
}


def rows(model, call, retain):
    zoo.seed(4)
    out = call(torch.linspace(-2, 2, 32).reshape(4, 8))
    parameters = list(model.parameters())
    losses = [out[:, n].sum() for n in range(3)]
    return [torch.autograd.grad(loss, parameters, retain_graph=retain, allow_unused=True) for loss in losses]


def same(one, other):
    pairs = [pair for row, more in zip(one, other, strict=True) for pair in zip(row, more, strict=True)]
    return all((a is None and b is None) or torch.equal(a, b) for a, b in pairs)


def budgets(model):
    """From just below everything to the least that can be met."""
    probe = secondpass.keep(copy.deepcopy(model), budget="1GB")
    out = probe(torch.randn(4, 8))
    everything = probe.ledger().bytes
    del out
    with pytest.raises(secondpass.keep.BudgetError) as caught:
        secondpass.keep(copy.deepcopy(model), budget=1)(torch.randn(4, 8))
    least = caught.value.least
    return [int(least + share * (everything - least)) for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 4.0)]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_level_gives_the_same_bits(name):
    zoo.seed(1)
    model = zoo.Stack([BLOCKS[name]() for _ in range(4)])
    expected, levels = rows(model, model, True), set()
    for budget in budgets(model):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=budget)
        for _ in range(3):
            assert same(rows(again, kept, False), expected)
        levels |= {fate.level for _, fate in kept._keeper._plan}
    assert levels >= {"full", "fast"}
    if name == "silu":
        assert levels == {"full", "fast", "slim", "halves"}


@pytest.mark.parametrize("policy", ["retain", "recompute", "offload"])
@pytest.mark.parametrize("name", BLOCKS)
def test_every_policy_gives_the_same_bits(name, policy):
    zoo.seed(1)
    model = zoo.Stack([BLOCKS[name]() for _ in range(3)])
    kept = secondpass.keep(model, policy=policy)
    for _ in range(2):
        assert same(rows(model, kept, False), rows(model, model, True))


def held_by(block):
    zoo.seed(1)
    model = zoo.Stack([block() for _ in range(4)])
    middle = budgets(model)[4]
    kept = secondpass.keep(model, budget=middle)
    for _ in range(2):
        out = kept(torch.randn(4, 8))
        out.sum().backward()
    out = kept(torch.randn(4, 8))
    lines = [line for line in kept.ledger().lines if line.unit and line.state == "held"]
    del out
    return lines[0].held / lines[0].bytes


def test_derived_buffers_are_not_held():
    assert held_by(zoo.Gated) <= 0.62  # of norm, gate, silu, up, product: gate and up, and the norm's statistics
    assert held_by(BehindTheBack) == 1.0  # found out by comparing


def test_a_changed_norm_raises_the_native_error():
    zoo.seed(1)
    model = zoo.Stack([zoo.Gated() for _ in range(4)])
    kept = secondpass.keep(model, budget=budgets(model)[4])
    for _ in range(2):
        out = kept(torch.randn(4, 8))
        out.sum().backward()
    with torch.no_grad():
        model.blocks[0].norm.bias.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("name", BLOCKS)
def test_a_part_of_each_unit_on_the_host_gives_the_same_bits(name):
    zoo.seed(1)
    model = zoo.Stack([BLOCKS[name]() for _ in range(4)])
    expected, parted = rows(model, model, True), False
    with pytest.raises(secondpass.keep.BudgetError) as caught:
        secondpass.keep(copy.deepcopy(model), budget=1, policy="offload")(torch.randn(4, 8))
    for share in (1.0, 1.2, 1.5, 2.0, 9.0):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=int(caught.value.least * share), policy="offload")
        for _ in range(3):
            assert same(rows(again, kept, False), expected)
        out = kept(torch.randn(4, 8))
        lines = [line for line in kept.ledger().lines if line.unit]
        parted |= any(line.host and line.held for line in lines)
        assert kept.ledger().held <= kept._keeper.budget
        out.sum().backward()
    assert parted


def test_room_that_is_left_is_used():
    """Where all units can be held without their derived buffers, some are held with them."""
    zoo.seed(1)
    model = zoo.Stack([zoo.Gated() for _ in range(8)])
    probe = secondpass.keep(copy.deepcopy(model), policy="retain")
    out = probe(torch.randn(4, 8))
    everything = probe.ledger().bytes
    del out
    kept = secondpass.keep(model, budget=everything)  # which leaves no room for gradients on their way
    for _ in range(3):
        out = kept(torch.randn(4, 8))
        assert kept.ledger().held <= everything
        out.sum().backward()
    fates = [fate for _, fate in kept._keeper._plan]
    assert {fate.mode for fate in fates} == {"retain"}
    assert {fate.level for fate in fates} == {"full", "fast"}
