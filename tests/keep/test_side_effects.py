# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a forward does besides computing happens once, and ends as it would without keep."""

import contextlib
import copy

import pytest
import torch
from programs import POLICIES, differences, flat, observe, seed
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import secondpass

OPTIONS = {**POLICIES, "budget": {"budget": "60% of full"}}


class Block(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, *args):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Stack(nn.Module):
    """Blocks that are given an object besides the tensor."""

    def __init__(self, block=Block, depth=8):
        super().__init__()
        self.blocks = nn.ModuleList(block() for _ in range(depth))

    def forward(self, x, *args):
        for block in self.blocks:
            x = block(x, *args)
        return x


def stack(block=Block):
    seed(3)
    return Stack(block)


def rows(model, call, *args, retain, passes=2):
    seed(1)
    out = call(torch.linspace(-1, 1, 64).reshape(8, 8), *args)
    found = []
    for number in range(passes):
        found += torch.autograd.grad(
            out[:, number].pow(2).sum(), list(model.parameters()), retain_graph=retain or None, allow_unused=True
        )
    return found


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_hooks_run_once_per_forward(options):
    model, seen = stack(), []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda *_: seen.append("before"))
        block.up.register_forward_hook(lambda *_: seen.append("after"))
    kept = secondpass.keep(model, **options)
    expected = rows(model, model, retain=True)
    for _ in range(3):
        seen.clear()
        assert differences(rows(model, kept, retain=False), expected) == []
        assert seen == ["before", "after"] * 8


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_hook_that_collects_outputs(options):
    """As libraries collect hidden states."""
    model, seen = stack(), []
    for block in model.blocks:
        block.register_forward_hook(lambda module, args, out: seen.append(out))
    kept = secondpass.keep(model, **options)
    for _ in range(3):
        seen.clear()
        out = kept(torch.ones(8, 8))
        assert len(seen) == 8
        seen[1].sum().backward()
        out.sum().backward()
        assert len(seen) == 8 and seen[-1] is out


class Auxiliary(Block):
    """Appends a loss to a list that it is given."""

    def forward(self, x, losses):
        y = super().forward(x)
        losses.append(y.pow(2).mean())
        return y


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_losses_that_are_appended_to_an_argument(options):
    model, again = stack(Auxiliary), stack(Auxiliary)
    kept = secondpass.keep(again, **options)
    for _ in range(3):
        found = []
        for net, call, retain in ((model, model, True), (again, kept, None)):
            net.zero_grad()
            losses = []
            out = call(torch.linspace(-1, 1, 64).reshape(8, 8), losses)
            assert len(losses) == 8
            (out.sum() + sum(losses)).backward(retain_graph=retain)
            losses[2].backward(retain_graph=retain)
            assert len(losses) == 8
            found.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
        assert differences(*found) == []


class Cache:
    """Grows with every call, as a cache of keys does."""

    def __init__(self):
        self.keys = None

    def update(self, keys):
        self.keys = keys if self.keys is None else torch.cat([self.keys, keys])
        return self.keys


class Remembering(Block):
    def forward(self, x, cache):
        keys = cache.update(torch.tanh(self.norm(x)))
        return super().forward(x) + keys.mean(0)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_cache_that_is_written_to(options):
    model, again = stack(Remembering), stack(Remembering)
    kept = secondpass.keep(again, **options)
    for _ in range(3):
        one, two = Cache(), Cache()
        expected = rows(model, model, one, retain=True)
        assert differences(rows(again, kept, two, retain=False), expected) == []
        assert differences(flat(one.keys), flat(two.keys)) == []


class Counting(Block):
    calls = 0

    def forward(self, x, *args):
        Counting.calls += 1
        return super().forward(x) * Counting.calls


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_state_outside_of_modules(options):
    """A global counter is used, and moves on once per forward."""
    model = stack(Counting)
    kept = secondpass.keep(model, **options)
    for _ in range(3):
        Counting.calls = 5
        expected = rows(model, model, retain=True)
        Counting.calls = 5
        assert differences(rows(model, kept, retain=False), expected) == []
        assert Counting.calls == 13


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_values_that_are_printed(options, capsys):
    class Loud(Block):
        def forward(self, x, *args):
            print("forward")
            return super().forward(x)

    model = stack(Loud)
    kept = secondpass.keep(model, **options)
    rows(model, kept, retain=False)
    assert capsys.readouterr().out.count("forward") == 8


@pytest.mark.parametrize("policy", [*POLICIES, "budget"])
def test_mixtral_with_router_logits(policy):
    from libraries import EXAMPLES

    example = EXAMPLES["mixtral"]
    model = example.make()
    again = copy.deepcopy(model)
    kept = secondpass.keep(again, **{**POLICIES, "budget": {"budget": "60% of full"}}[policy])
    expected = observe(model, model, example.inputs, retain=True, steps=2)
    assert differences(expected, observe(again, kept, example.inputs, retain=False, steps=2)) == []


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
@pytest.mark.parametrize("policy", POLICIES)
def test_hidden_states_are_collected_once(name, policy):
    from libraries import EXAMPLES

    example = EXAMPLES[name]
    model = example.make()
    kept = secondpass.keep(model, **POLICIES[policy])
    for _ in range(2):
        out = kept(**example.inputs(0), output_hidden_states=True)
        assert len(out.hidden_states) == 4
        out.hidden_states[2].sum().backward()
        out.loss.backward()
        assert len(out.hidden_states) == 4


@pytest.mark.parametrize("name", ["gpt2", "llama", "mixtral"])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_cache_of_keys_is_as_long_as_the_text(name, policy):
    """`use_cache=True` is what these models do by default."""
    from libraries import EXAMPLES

    example = EXAMPLES[name]
    model = example.make()
    kept = secondpass.keep(model, **POLICIES[policy])
    inputs = example.inputs(0)
    out = kept(**inputs, use_cache=True)
    assert out.past_key_values.get_seq_length() == 12
    out.loss.backward()
    out.logits.sum().backward()
    assert out.past_key_values.get_seq_length() == 12
    assert all(layer.keys.shape[-2] == 12 for layer in out.past_key_values.layers)


class Exposing(Block):
    """Hands memory to NumPy, which writes there; in some calls only."""

    writes = True

    def forward(self, x, *args):
        y = torch.tanh(self.up(self.norm(x)))
        z = torch.sin(y)
        if self.writes:
            y.detach().numpy()[0] = 0.5
        return x + self.down(z)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("turns", [(True, True), (False, True, False, True)], ids=["always", "sometimes"])
def test_memory_that_somebody_else_writes_to(options, turns):
    """PyTorch does not see it, and uses what lies there then. So does keep."""
    model = stack(Exposing)
    kept = secondpass.keep(model, **{**options, **({"budget": "80% of full"} if "budget" in options else {})})
    for Exposing.writes in turns:
        expected = rows(model, model, retain=True)
        assert differences(rows(model, kept, retain=False), expected) == []


class Listening(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("whole", [False, True], ids=["forward", "passes too"])
def test_a_function_mode_sees_what_it_would(options, whole):
    def walk(call, retain):
        seen = []
        for _ in range(3):
            with Listening() as mode:
                out = call(torch.ones(8, 8))
                if whole:
                    out[:, 0].sum().backward(retain_graph=retain)
                    out[:, 1].sum().backward(retain_graph=retain)
            seen.append(mode.seen)
            if not whole:
                out[:, 0].sum().backward(retain_graph=retain)
                out[:, 1].sum().backward(retain_graph=retain)
        return seen

    model = stack()
    assert walk(secondpass.keep(model, **options), None) == walk(model, True)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_a_dispatch_mode_sees_no_operation_run_again(options):
    """What is computed again is none of its business, when it counts a forward or a pass."""
    from torch.utils.flop_counter import FlopCounterMode

    def walk(call, retain):
        found = []
        for _ in range(3):
            with FlopCounterMode(display=False) as mode:
                out = call(torch.ones(8, 8))
                out[:, 0].sum().backward(retain_graph=retain)
                out[:, 1].sum().backward(retain_graph=retain)
            found.append(mode.get_total_flops())
        return found

    model = stack()
    assert walk(secondpass.keep(model, **options), None) == walk(model, True)


class Dispatched(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("functions", [False, True], ids=["alone", "with a function mode"])
def test_a_dispatch_mode_sees_what_it_would(options, functions):
    """Every operation of the forward, and no look of keep's at a tensor."""

    def walk(call):
        seen = []
        for _ in range(3):
            with Dispatched() as mode, Listening() if functions else contextlib.nullcontext():
                out = call(torch.ones(8, 8))
            seen.append(mode.seen)
            out[:, 0].sum().backward(retain_graph=True)
            out[:, 1].sum().backward()
        return seen

    model = stack()
    assert walk(secondpass.keep(model, **options)) == walk(model)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_tensors_without_data(options):
    model = stack().to("meta")
    kept = secondpass.keep(model, **options)
    for _ in range(2):
        out = kept(torch.ones(8, 8, device="meta"))
        out.sum().backward()
        out.mean().backward()
        assert model.blocks[0].up.weight.grad.shape == (32, 8)
