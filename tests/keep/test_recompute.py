# SPDX-License-Identifier: BSD-3-Clause
"""What is computed again is the same in every bit, and only what may be is."""

import copy

import pytest
import torch
import zoo
from budgets import budgets
from torch import nn
from torch.nn import functional

import secondpass
from secondpass.keeper.recompute import replay, verify

X = torch.linspace(-2, 2, 32).reshape(4, 8)


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


class ThroughNumpy(zoo.Gated):
    """The same, without PyTorch knowing at all."""

    def forward(self, x):
        a = functional.gelu(self.gate(self.norm(x)))
        a.detach().numpy()[:] *= 2
        return x + self.down(a)


class Filled(zoo.Gated):
    """Somebody whom PyTorch does not know fills memory that it has made. At first with nothing but zeros."""

    def forward(self, x):
        h = self.gate(self.norm(x))
        more = torch.zeros_like(h)
        more.numpy()[:] = Filled.turn
        Filled.turn += 1
        return x + self.down(torch.exp(more) * h + more)

    turn = 0


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


class Attention(nn.Module):
    """One layer whose result is read in three parts."""

    dropout = 0.0

    def __init__(self):
        super().__init__()
        self.norm, self.all, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.all(self.norm(x)).view(4, 3, 2, 4).permute(1, 2, 0, 3)
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)
        return x + self.out(y.transpose(0, 1).reshape(4, 8))


class RandomAttention(Attention):
    """Draws its numbers inside of a function of PyTorch."""

    dropout = 0.3


class Chain(zoo.Plain):
    """Layers of layers: a result is made from a result."""

    def __init__(self):
        super().__init__()
        self.more = nn.ModuleList(nn.Linear(16, 16) for _ in range(3))

    def forward(self, x):
        h = self.up(x)
        for layer in self.more:
            h = functional.silu(layer(h)) * torch.sigmoid(h)
        return x + self.down(h)


class Frozen(zoo.Plain):
    """A bias that is a buffer: anybody may write to it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.ones(16))

    def forward(self, x):
        h = functional.linear(x, self.up.weight, self.shift)
        return x + self.down(functional.gelu(h))


class Scaled(zoo.Plain):
    """A product with factors of its own."""

    def forward(self, x):
        h = torch.addmm(self.up.bias, x, self.up.weight.t(), beta=0.5, alpha=2.0)
        return x + self.down(functional.gelu(h))


class Rectified(zoo.Plain):
    """In place, as convolutional nets do it."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x):
        return x + self.down(functional.relu(self.norm(self.up(x)), inplace=True))


class Parts(zoo.Plain):
    """Writes to parts of what it has made."""

    def forward(self, x):
        h = self.up(x)
        h[:, :4] = torch.tanh(h[:, 4:8])
        h[:, 8] += 1.0
        h *= 0.5
        return x + self.down(torch.sin(h))


class Lists(zoo.Plain):
    """Functions that take and return several tensors, also by name."""

    def forward(self, x):
        a, b = torch.chunk(self.up(x), 2, dim=1)
        best, where = torch.max(torch.stack([a, b, torch.cat([a[:, 4:], b[:, :4]], dim=1)]), dim=0)
        total = torch.einsum("ij,ij->i", best, a)
        return x + self.down(torch.cat([best, torch.where(where > 0, input=a, other=b)], dim=1)) * total[:, None]


class Sliced(zoo.Plain):
    """Chooses by a number in a tensor, which moves on."""

    def __init__(self):
        super().__init__()
        self.register_buffer("place", torch.tensor(0), persistent=False)

    def forward(self, x):
        self.place.fill_(2)
        rows = torch.arange(x.shape[0])
        h = torch.tanh(self.up(x))[rows, self.place : self.place + 8]
        self.place.add_(3)
        return x + self.down(torch.cat([torch.sin(h), h[rows, 0:8]], dim=1))


class Cached(zoo.Plain):
    """Computes something once, and uses it in all calls: anybody may hold it."""

    table = None

    def forward(self, x):
        if Cached.table is None:
            with torch.no_grad():
                Cached.table = torch.arange(16.0).sin()
        return x + self.down(self.up(x) * Cached.table)


BLOCKS = {
    "silu": zoo.Gated, "gelu": lambda: zoo.Gated(functional.gelu), "tanh": lambda: zoo.Gated(torch.tanh),
    "dropped": Dropped, "bare": Bare, "written": Written, "behind the back": BehindTheBack, "numpy": ThroughNumpy,
    "filled": Filled, "both": Both, "attention": Attention, "random attention": RandomAttention, "chain": Chain,
    "frozen": Frozen, "scaled": Scaled, "rectified": Rectified, "parts": Parts, "lists": Lists, "cached": Cached, "sliced": Sliced,
}  # fmt: skip


def stack(block, count=4):
    zoo.seed(1)
    return zoo.Stack([block() for _ in range(count)])


def rows(model, call, retain, turn=0):
    zoo.seed(4)
    Filled.turn = turn
    out = call(X)
    parameters = list(model.parameters())
    losses = [out[:, n].sum() for n in range(3)]
    return [torch.autograd.grad(loss, parameters, retain_graph=retain, allow_unused=True) for loss in losses]


def same(one, other):
    pairs = [pair for row, more in zip(one, other, strict=True) for pair in zip(row, more, strict=True)]
    return all((a is None and b is None) or torch.equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", BLOCKS)
def test_every_budget_gives_the_same_bits(name):
    model = stack(BLOCKS[name])
    for budget in budgets(model, lambda kept: kept(X)):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=budget)
        for turn in range(3):
            assert same(rows(again, kept, False, turn), rows(again, again, True, turn))
            if turn:
                assert kept.ledger().most <= budget
            kept._keeper.most = 0  # the first call has no plan yet


@pytest.mark.parametrize("policy", ["retain", "recompute", "offload"])
@pytest.mark.parametrize("name", BLOCKS)
def test_every_policy_gives_the_same_bits(name, policy):
    model = stack(BLOCKS[name])
    kept = secondpass.keep(model, policy=policy)
    for turn in range(3):
        assert same(rows(model, kept, False, turn), rows(model, model, True, turn))


@pytest.mark.parametrize("name", BLOCKS)
def test_a_part_of_each_unit_on_the_host_gives_the_same_bits(name):
    model = stack(BLOCKS[name])
    parted = False
    for budget in budgets(model, lambda kept: kept(X), (0.0, 0.1, 0.3, 0.6), policy="offload"):
        again = copy.deepcopy(model)
        kept = secondpass.keep(again, budget=budget, policy="offload")
        for turn in range(3):
            assert same(rows(again, kept, False, turn), rows(again, again, True, turn))
        out = kept(X)
        parted |= any(line.host and line.held for line in kept.ledger().lines if line.unit)
        assert kept.ledger().held <= budget
        out.sum().backward()
    assert parted


def plan_of(block, **options):
    model = stack(block)
    kept = secondpass.keep(model, **options)
    kept(X).sum().backward()
    return kept.plan()


def test_what_is_dropped():
    """Of norm, gate, silu, up and product: all but statistics, and the arguments of the units."""
    for line in plan_of(zoo.Gated, policy="recompute").lines:
        if line.unit:
            assert line.held <= 2 * 4 * 4 + X.nbytes
            assert line.made_again and line.recomputed


@pytest.mark.parametrize("block", [BehindTheBack, ThroughNumpy, Filled])
def test_what_comes_out_differently_is_held(block):
    kept = secondpass.keep(stack(block), policy="recompute")
    Filled.turn = 1
    out = kept(X)
    found = [line for line in kept.ledger().lines if line.unit == "blocks.1"]
    assert "held because" in found[0].why and found[0].held >= 4 * 32 * 4
    out.sum().backward()


def test_the_last_product_is_not_run_again(monkeypatch):
    """Nothing that is saved depends on it."""
    ran = []
    plain = replay._run

    def spy(store, op, *rest):
        ran.append(op.name)
        return plain(store, op, *rest)

    monkeypatch.setattr(replay, "_run", spy)

    class Ending(zoo.Plain):
        def forward(self, x):
            return x + functional.dropout(self.down(torch.tanh(self.up(torch.sin(x)))), 0.3)

    model = stack(Ending, 3)
    kept = secondpass.keep(model, policy="recompute")
    for _ in range(4):  # what is let go at the end of a call was compared once before
        out = kept(X)
        ran.clear()
        out.sum().backward()
        out.mean().backward()
    assert 0 < ran.count("linear") <= 2 * 3  # two passes, three units, one of the two products of each


@torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)  # others have no second derivative
def test_second_derivatives():
    def second(call, model):
        x = X.clone().requires_grad_()
        (slope,) = torch.autograd.grad(call(x).pow(2).sum(), [x], create_graph=True)
        return torch.autograd.grad(slope.pow(2).sum(), list(model.parameters()), allow_unused=True)

    for block in (zoo.Plain, zoo.Gated, Attention, Chain):
        model = stack(block)
        for budget in budgets(model, lambda kept: kept(X.clone().requires_grad_()), (0.0, 0.5)):
            kept = secondpass.keep(model, budget=budget)
            for _ in range(2):
                assert same([second(kept, model)], [second(model, model)])


@pytest.mark.parametrize("name", ["norm.bias", "gate.bias", "up.weight"])
def test_a_changed_parameter_raises_the_native_error(name):
    model = stack(zoo.Gated)
    kept = secondpass.keep(model, policy="recompute")
    for _ in range(2):
        out = kept(X)
        out.sum().backward()
        with torch.no_grad():
            model.blocks[1].get_parameter(name).add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()
        del out


def test_a_parameter_that_is_not_here():
    """FSDP empties the memory of a parameter behind its forward: then nothing is computed from it."""
    model = stack(zoo.Plain)
    bias = model.blocks[0].up.bias
    full = torch.arange(16.0)

    class Away(zoo.Plain):
        def forward(self, x):
            self.up.bias.untyped_storage().resize_(64)
            self.up.bias.data.copy_(full)
            found = super().forward(x)
            self.up.bias.untyped_storage().resize_(0)
            return found

    bias.data.copy_(full)
    expected = rows(model, model, True)
    model.blocks[0].__class__ = Away
    kept = secondpass.keep(model, policy="recompute")
    for _ in range(3):
        assert same(rows(model, kept, False), expected)
    bias.untyped_storage().resize_(64)


class Reading(torch.autograd.Function):
    """Reads what it saved twice, and keeps a tensor for itself."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.own = x * 2
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        (again,) = ctx.saved_tensors
        return g * 3 * x * again + 0 * ctx.own


@pytest.mark.parametrize("policy", ["retain", "recompute", "offload"])
def test_tensors_stored_on_ctx(policy):
    class Custom(zoo.Plain):
        def forward(self, x):
            return Reading.apply(torch.tanh(super().forward(x)))

    model = stack(Custom)
    kept = secondpass.keep(model, policy=policy)
    for _ in range(3):
        assert same(rows(model, kept, False), rows(model, model, True))


LATER = {
    "data": lambda y: y.data.mul_(0.5),
    "numpy": lambda y: y.detach().numpy().__setitem__(0, 0.25),
    "storage": lambda y: torch.empty(0).set_(y.untyped_storage(), 0, y.shape).mul_(0.5),
    "filled": lambda y: y.untyped_storage().fill_(0),
}


@pytest.mark.parametrize("policy", ["recompute", "offload"])
@pytest.mark.parametrize("write", LATER.values(), ids=LATER)
@pytest.mark.parametrize("saved_before", [True, False])
def test_memory_that_is_handed_out_after_the_plan_was_made(write, saved_before, policy):
    """No version tells that it was written to: its readers, before and after, read what PyTorch's nodes would."""
    weight = torch.ones(8, requires_grad=True)

    def forward(x, turn):
        y = (x * weight).exp() if saved_before else x * weight
        if turn >= 2:
            write(y)
        return torch.cat(y.sin().chunk(2)[::-1]) * torch.nn.functional.threshold(y, 0.1, 0.2)

    kept = secondpass.keep(forward, policy=policy)
    for turn in range(4):
        out, plain = kept(X, turn), forward(X, turn)
        for _ in range(2):
            (found,) = torch.autograd.grad(out.sum(), weight)
            assert torch.equal(found, torch.autograd.grad(plain.sum(), weight, retain_graph=True)[0])


def clamped(x):
    y = x.sin()
    y.clamp_(-0.5, 0.5)
    return functional.avg_pool1d(y, 3, 1, 1) * y


def test_what_an_operation_saved_before_it_wrote_is_made_again():
    """Also of an operation that writes to what requires a gradient."""
    kept = secondpass.keep(clamped, policy="recompute")
    for _ in range(3):
        x = X.clone().requires_grad_()
        out, plain = kept(x), clamped(x)
        for _ in range(3):  # the last one comes when all was let go
            (found,) = torch.autograd.grad(out.sum(), x)
            assert torch.equal(found, torch.autograd.grad(plain.sum(), x, retain_graph=True)[0])
        assert all(line.held <= X.nbytes for line in kept.ledger().lines)
        kept.close()
        assert torch.equal(torch.autograd.grad(out.sum(), x)[0], found)


def test_each_result_of_an_operation_is_trusted_by_itself(monkeypatch):
    """What it returned came out the same, what it saved did not: in later calls the one goes, and the other stays."""
    plain = verify._same
    monkeypatch.setattr(verify, "_same", lambda store, value: value.slot[0] != "pack" and plain(store, value))
    kept = secondpass.keep(clamped, policy="recompute")

    def slots():
        out = kept(X.clone().requires_grad_())
        out.sum().backward()
        kept.close()
        (call,) = kept._keeper.calls
        values = list(call.store.values())
        return (
            {value.slot[0] for value in values if value.data is not None and value.counted},
            {value.slot[0] for value in values if value.data is None},
        )

    for _ in range(3):
        held, gone = slots()
        assert "pack" in held and "pack" not in gone and gone


def test_forms_that_change_from_call_to_call():
    """Shapes stay, and the plan with them: strides, offsets, types and what lies in the same memory do not."""
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 6)
    wide, square = torch.randn(6, 12), torch.randn(6, 6)
    one = torch.randn(6, 6, dtype=torch.complex64)
    given = [square, square.t(), wide[:, ::2], wide[:, 3:9], one.imag, one.conj().imag, square.t(), square]

    def forward(x):
        return (torch.sin(model(torch.cos(x) * x)) * x.exp()).tanh()

    kept = secondpass.keep(forward, policy="recompute")
    for x in given * 2:
        grads = []
        for call, retain in ((forward, True), (kept, None)):
            out = call(x)
            grads.append(
                [
                    torch.autograd.grad(loss, list(model.parameters()), retain_graph=retain)
                    for loss in (out.sum(), out.square().mean())
                ]
            )
        for plain, ours in zip(*grads, strict=True):
            assert all(torch.equal(a, b) for a, b in zip(plain, ours, strict=True))


class LearntBias(nn.Module):
    """The kernel of its attention depends on whether the bias, which is computed, needs a gradient."""

    def __init__(self, size=16):
        super().__init__()
        self.project, self.out = nn.Linear(size, size), nn.Linear(size, size)
        self.bias = nn.Parameter(torch.randn(1, 4, size, size))

    def forward(self, x):
        query = self.project(x)
        attended = functional.scaled_dot_product_attention(query, query.tanh(), query.sin(), self.bias * 2)
        return self.out(attended + 1)


@pytest.mark.parametrize("options", [{"policy": "recompute"}, {"budget": "1GB", "passes": 1}])
def test_a_function_before_takes_another_way_when_nobody_will_differentiate(options):
    """What is computed from its result is computed again nevertheless, also in calls that follow a plan."""
    torch.manual_seed(0)
    model, x = LearntBias(), torch.randn(2, 4, 16, 16)
    kept = secondpass.keep(model, **options)
    parameters = list(model.parameters())
    for _ in range(3):
        plain, out = model(x), kept(x)
        for power in (1, 2, 3):
            expected = torch.autograd.grad(plain.pow(power).sum(), parameters, retain_graph=True)
            found = torch.autograd.grad(out.pow(power).sum(), parameters)
            assert all(map(torch.equal, expected, found))
        assert "did not give the same result" not in str(kept.ledger())
