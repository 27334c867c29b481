# SPDX-License-Identifier: BSD-3-Clause
"""On a GPU: the same bits, streams in the right order, and peaks by the allocator's own count."""

import pytest
import torch
from torch import nn
from torch.nn import functional

import secondpass

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
OPTIONS = [{}, {"policy": "retain"}, {"policy": "recompute"}, {"policy": "offload"}, {"share": 0.5}, {"share": 0.35}]
OPTIONS += [{"policy": "offload", "share": 0.6}]


class Block(nn.Module):
    def __init__(self, width=256, heads=4):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + functional.dropout(self.out(y.transpose(1, 2).reshape(batch, length, width)), 0.1, self.training)
        return x + functional.dropout(self.down(functional.gelu(self.up(self.norm2(x)))), 0.1, self.training)


def network(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Sequential(*(Block() for _ in range(8))).cuda().to(dtype)


@pytest.fixture(autouse=True)
def deterministic():
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    yield
    torch.use_deterministic_algorithms(before)
    torch.backends.cuda.enable_mem_efficient_sdp(True)


def run(model, call, x, retain, amp):
    found = []
    for step in range(3):
        model.zero_grad()
        torch.manual_seed(step)
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            out = call(x)
        for number in range(3):
            out[..., number].float().pow(2).mean().backward(retain_graph=retain)
        found += [p.grad.clone() for p in model.parameters()]
    return found


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "autocast"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_bit_is_the_same(options, kind):
    model = network(torch.bfloat16 if kind == "bfloat16" else torch.float32)
    x = torch.randn(4, 128, 256, device="cuda", dtype=next(model.parameters()).dtype)
    expected = run(model, model, x, True, kind == "autocast")
    assert all(torch.equal(a, b) for a, b in zip(expected, run(model, model, x, True, kind == "autocast"), strict=True))
    options = dict(options)
    share = options.pop("share", None)
    if share is not None:
        options["budget"] = f"{share:.0%} of full"
    kept = secondpass.keep(model, units=Block, **options)
    got = run(model, kept, x, False, kind == "autocast")
    assert all(torch.equal(a, b) for a, b in zip(expected, got, strict=True))


@pytest.mark.parametrize(
    ("policy", "share"), [("auto", 0.7), ("auto", 0.5), ("auto", 0.35), ("offload", 0.7), ("offload", 0.5)]
)
def test_the_peak_stays_within_the_budget(policy, share):
    """From the second call on: the first one has no plan yet."""
    model = network()
    x = torch.randn(16, 256, 256, device="cuda")
    for p in model.parameters():
        p.grad = torch.zeros_like(p)

    def peak(call, retain):
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        out = call(x)
        for number in range(2):
            out[..., number].pow(2).mean().backward(retain_graph=retain)
        return torch.cuda.max_memory_allocated() - before

    model(x).sum().backward()  # what cuBLAS takes for good
    budget = int(peak(model, True) * share)
    kept = secondpass.keep(model, units=Block, budget=budget, policy=policy)
    peak(kept, False)
    for _ in range(3):
        assert peak(kept, False) <= budget


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "autocast"])
@pytest.mark.parametrize("within", [False, True], ids=["plain passes", "passes under autocast"])
def test_results_of_layers_that_are_left_out(kind, within):
    """They come out the same in every bit, in the precision they had, whatever a pass runs under."""
    model = network(torch.bfloat16 if kind == "bfloat16" else torch.float32)
    x = torch.randn(2, 128, 256, device="cuda", dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
    parameters = list(model.parameters())

    def rows(call, retain):
        torch.manual_seed(1)
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "autocast"):
            out = call(x)
        losses = [out[..., number].float().pow(2).mean() for number in range(3)]
        with torch.autocast("cuda", torch.bfloat16, enabled=within):
            return [g for loss in losses for g in torch.autograd.grad(loss, parameters, retain_graph=retain)]

    expected = rows(model, True)
    kept = secondpass.keep(model, budget="50% of full")
    for _ in range(3):
        assert all(map(torch.equal, rows(kept, False), expected))
    assert kept.plan().recomputed and kept.plan().made_again


def test_a_pass_that_nobody_expected_under_offload():
    """Under policy offload they are held as bits; a pass that comes nevertheless finds what it needs."""
    model = network()
    x = torch.randn(2, 128, 256, device="cuda")
    parameters = list(model.parameters())

    def rows(call, retain):
        torch.manual_seed(1)
        out = call(x)
        return out, [
            g for n in range(2) for g in torch.autograd.grad(out[..., n].sum(), parameters, retain_graph=retain)
        ]

    kept = secondpass.keep(model, units=Block, policy="offload", passes=2)
    expected = rows(model, True)[1]
    for _ in range(2):
        out, found = rows(kept, False)
        assert all(map(torch.equal, found, expected))
    assert any(line.host for line in kept.ledger().lines)
    again = torch.autograd.grad(out[..., 1].sum(), parameters)
    assert all(map(torch.equal, again, expected[len(parameters) :]))


def test_memory_returns_to_the_start():
    model = network()
    x = torch.randn(4, 128, 256, device="cuda")
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    model(x).sum().backward()

    def train(options):
        kept = secondpass.keep(model, units=Block, **options)
        for _ in range(3):
            out = kept(x)
            for number in range(2):
                out[..., number].sum().backward()

    for options in ({}, {"policy": "recompute"}, {"policy": "offload"}, {"budget": 2**25}):
        train(options)  # the first product in the engine's thread takes memory for cuBLAS, for good
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        train(options)
        torch.cuda.synchronize()
        assert torch.cuda.memory_allocated() == before


def test_a_scaler_and_an_optimizer():
    model = network()
    kept = secondpass.keep(model, units=Block, policy="recompute")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cuda")
    x = torch.randn(4, 128, 256, device="cuda")
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            out = kept(x)
        for number in range(2):
            scaler.scale(out[..., number].float().pow(2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert all(line.held == 0 for line in kept.ledger().lines if line.unit)
    assert not any("the same result" in line.why for line in kept.ledger().lines)
    del out


@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_a_model_on_two_devices(options):
    class Split(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block().cuda(), Block(), Block().cuda()])

        def forward(self, x):
            for block in self.blocks:
                x = block(x.to(block.up.weight.device))
            return x

    torch.manual_seed(0)
    model = Split()
    x = torch.randn(2, 16, 256)
    kept = secondpass.keep(model, units=Block, **options)
    expected = run(model, model, x, True, False)
    assert all(torch.equal(a, b) for a, b in zip(expected, run(model, kept, x, False, False), strict=True))


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "autocast"])
@pytest.mark.parametrize("streams", [False, True], ids=["one stream", "two streams"])
def test_products_on_a_stream_of_their_own(kind, streams, monkeypatch):
    """Every bit the same, however far the streams are apart, and memory that is reused at once is not read late."""
    from secondpass.keeper.losses import chunks as _chunks

    monkeypatch.setattr(_chunks, "_memory", _chunks._Memory())
    model = network(torch.bfloat16 if kind == "bfloat16" else torch.float32)
    inputs = list(model.parameters())
    x = torch.randn(16, 256, 256, device="cuda").to(inputs[0].dtype)
    other = torch.cuda.Stream()

    def make():
        torch.manual_seed(1)
        with torch.autocast("cuda", torch.bfloat16, enabled=kind == "autocast"):
            out = model[:4](x)
            if streams:
                other.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(other):
                    out = model[4:](out)
                torch.cuda.current_stream().wait_stream(other)
            else:
                out = model[4:](out)
        return [out[..., number].float().pow(2).mean() for number in range(8)]

    found = make()
    expected = [torch.autograd.grad(loss, inputs, retain_graph=True) for loss in found]
    ways = set()
    for _ in range(4):
        # The budget allows one loss at a time: products on the side and in the walk take turns.
        rows = secondpass.grads(make(), inputs, budget=1)
        scratch = [torch.full((1 << 22,), 7.0, device="cuda") for _ in range(16)]
        for row, other_row in zip(rows, expected, strict=True):
            for one, two in zip(row, other_row, strict=True):
                assert torch.equal(one, two)
        del scratch, rows
        ways |= {way.how for known in _chunks._memory._known.values() for way in known.times}
    assert ways == {"aside", "alone"}


def test_rows_on_two_devices():
    torch.manual_seed(0)
    first, last = Block(), Block().cuda()
    inputs = [*first.parameters(), *last.parameters()]
    x = torch.randn(2, 16, 256)
    for budget in (1, "1GB"):
        for places in (inputs, inputs[::-1]):
            out = last(first(x).cuda())
            found = [out[..., number].pow(2).mean() for number in range(4)]
            expected = [torch.autograd.grad(loss, places, retain_graph=True) for loss in found]
            for row, other in zip(secondpass.grads(found, places, budget=budget), expected, strict=True):
                for one, two in zip(row, other, strict=True):
                    torch.testing.assert_close(one, two)


LIBRARIES = ["gpt2", "llama", "mixtral", "t5", "bert", "vit", "whisper", "resnet", "convnext", "swin"]


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize(
    "options", [{"policy": "recompute"}, {"policy": "offload"}, {"budget": "90% of full"}], ids=str
)
@pytest.mark.parametrize("name", LIBRARIES)
def test_models_that_others_wrote(name, options, amp):
    from libraries import EXAMPLES
    from programs import differences, losses_of, seed

    example = EXAMPLES[name]
    model = example.make().cuda()

    def observe(call, retain):
        found = []
        for step in range(3):
            seed(step)
            model.zero_grad()
            inputs = {k: v.cuda() if isinstance(v, torch.Tensor) else v for k, v in example.inputs(step).items()}
            with torch.autocast("cuda", torch.bfloat16, enabled=amp):
                out = call(**inputs)
            for loss in losses_of(out):
                loss.backward(retain_graph=retain)
            found += [None if p.grad is None else p.grad.clone() for p in model.parameters()]
            found.append(torch.cuda.get_rng_state())
        return found

    state = {key: value.clone() for key, value in model.state_dict().items()}
    expected = observe(model, True)
    model.load_state_dict(state)
    if differences(expected, observe(model, True)):
        pytest.skip("it differs from itself")
    model.load_state_dict(state)
    assert differences(expected, observe(secondpass.keep(model, **options), None)) == []
