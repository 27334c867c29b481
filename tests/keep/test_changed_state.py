# SPDX-License-Identifier: BSD-3-Clause
"""What changes between the forward and the pass changes no gradient; what may not change is named."""

import copy

import pytest
import torch
from programs import POLICIES, differences, seed
from test_side_effects import Block, stack
from torch import nn
from torch.nn import functional

import secondpass

OPTIONS = {**POLICIES, "budget": {"budget": "60% of full"}}
X = torch.linspace(-1, 1, 64).reshape(8, 8)


class Dropping(Block):
    def __init__(self):
        super().__init__()
        self.dropout, self.scale = nn.Dropout(0.3), 2.0

    def forward(self, x, *args):
        return x + self.dropout(super().forward(x)) * self.scale


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x):
        q, k, v = self.qkv(x).view(1, 8, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return x + self.out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(8, 8))


class Defaulting(Block):
    """Makes tensors of the default type."""

    def forward(self, x):
        return super().forward(x) * torch.full((8,), 0.1).to(x.dtype) + (torch.arange(8) / 3).to(x.dtype)


def evaluate(model):
    model.eval()


def other_rate(model):
    for block in model.blocks:
        block.dropout.p = 0.9


def other_attribute(model):
    for block in model.blocks:
        block.scale = 7.0


def freeze(model):
    model.requires_grad_(False)


def other_forward(model):
    for block in model.blocks:
        block.forward = lambda x: x * 0


CHANGES = [evaluate, other_rate, other_attribute, freeze, other_forward]


def walk(model, call, change, retain):
    seed(4)
    out = call(X)
    change(model)
    inputs = list(model.parameters())
    out[:, 0].sum().backward(retain_graph=retain)
    out[:, 1].pow(2).sum().backward(retain_graph=retain)
    return [None if p.grad is None else p.grad.clone() for p in inputs]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("change", CHANGES)
def test_the_model_changes(options, change):
    model = stack(Dropping)
    for _ in range(2):
        one, two = copy.deepcopy(model), copy.deepcopy(model)
        expected = walk(one, one, change, True)
        kept = secondpass.keep(two, **options)
        assert differences(walk(two, kept, change, None), expected) == []


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_mode_changes_between_calls(options):
    model = stack(Dropping)
    again = copy.deepcopy(model)
    kept = secondpass.keep(again, **options)
    for training in (True, True, False, False, True, False, True):
        model.train(training), again.train(training)
        model.zero_grad(), again.zero_grad()
        expected = walk(model, model, lambda _: None, True)
        assert differences(walk(again, kept, lambda _: None, None), expected) == []


def test_a_budget_under_offload_after_eval():
    """Plans know the mode."""
    model = stack(Dropping)
    kept = secondpass.keep(model, policy="offload", budget="80% of full")
    for training in (True, False, True, False):
        kept.train(training)
        out = kept(X)
        assert kept.plan().offloaded
        out.sum().backward()
        out.mean().backward()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_passes_run_under_something_else(options):
    """Autocast, another backend for attention, another default type: around the forward or around the passes."""
    for block, around_forward, around_pass in (
        (Dropping, lambda: torch.autocast("cpu", torch.float16), torch.enable_grad),
        (Dropping, torch.enable_grad, lambda: torch.autocast("cpu", torch.float16)),
        (Attending, torch.enable_grad, lambda: nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH)),
        (Attending, lambda: nn.attention.sdpa_kernel(nn.attention.SDPBackend.MATH), torch.enable_grad),
        (Defaulting, torch.enable_grad, default_double),
    ):
        model = stack(block)
        kept = secondpass.keep(model, **options)
        for _ in range(2):
            found = []
            for call, retain in ((model, True), (kept, None)):
                model.zero_grad()
                seed(2)
                with around_forward():
                    out = call(X)
                with around_pass():
                    out[:, 0].float().sum().backward(retain_graph=retain)
                    out[:, 1].float().pow(2).sum().backward(retain_graph=retain)
                found.append([p.grad.clone() for p in model.parameters()])
            assert differences(*found) == []


class default_double:
    def __enter__(self):
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_):
        torch.set_default_dtype(torch.float32)


class Unrepeatable(nn.Module):
    """Saves small integers, bytes and signs of zero that are others each time."""

    turn = 0

    def __init__(self, kind):
        super().__init__()
        self.table, self.kind = nn.Parameter(torch.randn(16, 8)), kind

    def forward(self, x):
        Unrepeatable.turn += 1
        n = Unrepeatable.turn
        if self.kind == "index":
            return x + self.table[torch.tensor([n % 16, (n + 3) % 16])].sum(0)
        if self.kind == "bytes":
            return x + torch.where((torch.arange(8) + n) % 3 == 0, x * self.table[0], self.table[1])
        if self.kind == "uint8":
            return x * (torch.arange(8, dtype=torch.uint8) * n) + self.table[0]
        return torch.copysign(x * self.table[0], torch.full((8,), 0.0 if n % 2 else -0.0)) + x


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", ["index", "bytes", "uint8", "sign"])
def test_small_things_that_differ_each_time(options, kind):
    model = stack(lambda: Unrepeatable(kind))
    kept = secondpass.keep(model, **{**options, **({"budget": "100% of full"} if "budget" in options else {})})
    for turn in range(3):
        found = []
        for call, retain in ((model, True), (kept, None)):
            Unrepeatable.turn = turn
            model.zero_grad()
            out = call(X.clone().requires_grad_())
            for number in range(2):
                out[:, number].pow(2).sum().backward(retain_graph=retain)
            found.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        assert differences(*found) == []


def new_precision():
    """By the new names, as a part of PyTorch's own code does: from then on the old ones may not be asked."""
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.fp32_precision = "tf32"


def general_precision():
    torch.backends.fp32_precision = "ieee"


def deterministic():
    torch.use_deterministic_algorithms(True)


def settings():
    """All that a program can read."""
    parts = [
        ("generic", "all"),
        *((kind, op) for kind in ("cuda", "mkldnn") for op in ("all", "matmul", "conv", "rnn")),
    ]
    read = [torch._C._get_fp32_precision_getter(*part) for part in parts]
    return [*read, torch.are_deterministic_algorithms_enabled(), torch.get_default_dtype()]


@pytest.fixture
def as_they_were():
    yield
    torch.use_deterministic_algorithms(False)
    torch.backends.fp32_precision = "none"
    torch.backends.cuda.matmul.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")


@pytest.mark.usefixtures("as_they_were")
@pytest.mark.parametrize("when", ["before", "between"])
@pytest.mark.parametrize("setting", [new_precision, general_precision, deterministic])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_settings(options, setting, when):
    """PyTorch's own are as the user has set them, before and after each pass."""
    model = stack(Dropping)
    one, two = copy.deepcopy(model), copy.deepcopy(model)
    expected = walk(one, one, lambda _: None, True)
    if when == "before":
        setting()
    found = walk(two, secondpass.keep(two, **options), lambda _: setting() if when == "between" else None, None)
    set_by_user = settings()
    setting()
    assert settings() == set_by_user
    assert differences(found, expected) == []
