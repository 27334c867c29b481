# SPDX-License-Identifier: BSD-3-Clause
"""What is kept behaves like what it was made from."""

import copy
import io
import pickle
import threading

import pytest
import torch
import zoo
from torch import nn
from torch.utils.checkpoint import checkpoint

import secondpass

POLICIES = ["retain", "recompute", "offload"]


def network(block=zoo.Dropped):
    zoo.seed(3)
    return zoo.stack(block)


def gradients(model):
    return [None if p.grad is None else p.grad.clone() for p in model.parameters()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_module_stays_a_module():
    model = network()
    kept = secondpass.keep(model, budget="1GB")
    assert isinstance(kept, zoo.Stack) and isinstance(kept, nn.Module)
    assert list(kept.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(kept.parameters(), model.parameters(), strict=True))
    kept.eval()
    assert not model.training and not model.blocks[0].training
    kept.to(torch.float64)
    assert model.first.weight.dtype == torch.float64
    seen = []
    kept.register_forward_hook(lambda *_: seen.append(1))
    model(torch.ones(2, 8, dtype=torch.float64))
    kept(torch.ones(2, 8, dtype=torch.float64))
    assert seen == [1, 1]
    kept.extra = nn.Linear(2, 2)
    assert "extra.weight" in model.state_dict()
    assert "_compiled_call_impl" not in vars(model.blocks[0])


@pytest.mark.parametrize("units", ["auto", zoo.Dropped, "list"], ids=str)
def test_pickling_and_copying(units):
    model = network()
    kept = secondpass.keep(model, budget="1GB", units=list(model.blocks) if units == "list" else units)
    x = torch.ones(2, 8)
    for twin in (pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
        assert type(twin) is type(kept)
        assert twin.first.weight is not model.first.weight
        zoo.seed(1)
        expected = kept(x)
        zoo.seed(1)
        out = twin(x)
        assert torch.equal(expected, out)
        out.sum().backward()
        out.mean().backward()
    stored = io.BytesIO()
    torch.save(kept.state_dict(), stored)
    assert pickle.loads(pickle.dumps(model)).state_dict().keys() == model.state_dict().keys()


def test_a_function():
    weight = torch.randn(8, 8, requires_grad=True)

    def function(x, *, power=2):
        """Doc."""
        return torch.tanh(x @ weight) ** power

    for policy in POLICIES:
        kept = secondpass.keep(function, policy=policy)
        assert kept.__name__ == "function" and kept.__doc__ == "Doc."
        x = torch.randn(3, 8)
        expected = function(x, power=3)
        out = kept(x, power=3)
        for number in range(3):
            (a,) = torch.autograd.grad(expected[number].sum(), weight, retain_graph=True)
            (b,) = torch.autograd.grad(out[number].sum(), weight)
            assert torch.equal(a, b)
        del out, expected


def test_the_original_is_not_kept():
    model = network()
    kept = secondpass.keep(model)
    out = model(torch.ones(2, 8))
    out.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        out.sum().backward()
    del kept


@pytest.mark.parametrize("policy", POLICIES)
def test_double_backward(policy):
    plain, model = network(zoo.Plain), network(zoo.Plain)
    x = torch.randn(4, 8)
    results = []
    for call, retain in ((plain, True), (secondpass.keep(model, policy=policy), None)):
        out = call(x)
        parameters = list(call.parameters())
        first = torch.autograd.grad(out.pow(2).sum(), parameters, create_graph=True)
        norm = sum(g.pow(2).sum() for g in first)
        second = torch.autograd.grad(norm, parameters, retain_graph=retain)
        hvp = torch.autograd.grad(out.exp().sum(), parameters)
        results.append([*first, *second, *hvp])
    assert same([t.detach() for t in results[0]], [t.detach() for t in results[1]])


@pytest.mark.parametrize("policy", POLICIES)
def test_hooks_on_leaves_and_tensors_run_once_per_pass(policy):
    model = network(zoo.Plain)
    kept = secondpass.keep(model, policy=policy)
    seen = []
    handles = [
        model.blocks[0].up.weight.register_hook(lambda g: seen.append("leaf")),
        model.blocks[1].register_full_backward_hook(lambda *_: seen.append("module")),
        model.blocks[2].up.weight.register_post_accumulate_grad_hook(lambda p: seen.append("after")),
    ]
    x = torch.randn(4, 8, requires_grad=True)
    out = kept(x)
    out.register_hook(lambda g: seen.append("out"))
    for _ in range(2):
        seen.clear()
        out.sum().backward()
        assert sorted(seen) == ["after", "leaf", "module", "out"]
    for handle in handles:
        handle.remove()


@pytest.mark.parametrize("policy", POLICIES)
def test_siamese_calls(policy):
    model = network()
    kept = secondpass.keep(model, policy=policy)
    a, b = torch.randn(4, 8), torch.randn(4, 8)
    found = []
    for call, retain in ((model, True), (kept, False)):
        model.zero_grad()
        zoo.seed(2)
        one, two = call(a), call(b)
        for loss in ((one - two).pow(2).mean(), one.mean(), (one * two).sum()):
            loss.backward(retain_graph=retain)
        found.append(gradients(model))
    assert same(*found)


@pytest.mark.parametrize("policy", POLICIES)
def test_checkpoint_around(policy):
    model = network()
    kept = secondpass.keep(model, policy=policy)
    x = torch.randn(4, 8, requires_grad=True)
    found = []
    for call, retain in ((model, True), (kept, True)):
        model.zero_grad()
        zoo.seed(2)
        out = checkpoint(call, x, use_reentrant=False)
        for _ in range(2):
            out.pow(2).mean().backward(retain_graph=retain)
        found.append(gradients(model))
    assert same(*found)


@pytest.mark.parametrize("inner", POLICIES)
@pytest.mark.parametrize("outer", POLICIES)
def test_keep_inside_of_keep(inner, outer):
    zoo.seed(3)
    deep, plain, first, last = zoo.stack(zoo.Dropped), zoo.Plain(), nn.Linear(8, 8), nn.LayerNorm(8)
    found = []
    for wrap in (False, True):
        body = secondpass.keep(deep, policy=inner) if wrap else deep
        model = zoo.Stack([plain, body])
        model.first, model.last = first, last
        call = secondpass.keep(model, policy=outer) if wrap else model
        model.zero_grad()
        zoo.seed(4)
        out = call(torch.ones(4, 8))
        for _ in range(2):
            out.pow(2).mean().backward(retain_graph=not wrap)
        found.append(gradients(model))
    assert same(*found)


def test_a_kept_model_is_not_kept_twice():
    kept = secondpass.keep(network())
    with pytest.raises(ValueError, match="kept already"):
        secondpass.keep(kept)


@pytest.mark.parametrize("policy", POLICIES)
def test_threads(policy):
    """Forwards and passes in several threads at once, and a pass in another thread than its forward."""
    model = network(zoo.Plain)
    kept = secondpass.keep(model, policy=policy)
    inputs = [torch.randn(4, 8) for _ in range(4)]
    expected = [torch.autograd.grad(model(x).pow(2).sum(), list(model.parameters())) for x in inputs]
    problems = []

    def work(number):
        try:
            out = kept(inputs[number])
            for _ in range(3):
                got = torch.autograd.grad(out.pow(2).sum(), list(model.parameters()))
                assert same(got, expected[number])
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    out = kept(inputs[0])
    found = []
    thread = threading.Thread(
        target=lambda: found.append(torch.autograd.grad(out.pow(2).sum(), list(model.parameters())))
    )
    thread.start()
    thread.join()
    assert same(found[0], expected[0])
    assert same(torch.autograd.grad(out.pow(2).sum(), list(model.parameters())), expected[0])


def test_torch_func_around():
    model = network(zoo.Plain)
    kept = secondpass.keep(model, policy="recompute")
    x = torch.randn(3, 8)
    parameters = dict(model.named_parameters())

    def loss(values, call):
        return torch.func.functional_call(call, values, (x,)).pow(2).sum()

    one = torch.func.grad(loss)(parameters, model)
    two = torch.func.grad(loss)(parameters, kept)
    assert all(torch.equal(one[name], two[name]) for name in one)
    per_sample = torch.func.vmap(torch.func.grad(lambda v: kept(v[None]).sum()))(x)
    assert per_sample.shape == x.shape


@pytest.mark.parametrize("policy", POLICIES)
def test_autocast_and_a_scaler(policy):
    model = network(zoo.Plain)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    found = []
    x = torch.randn(4, 8)
    for call, retain in ((model, True), (secondpass.keep(model, policy=policy), False)):
        model.zero_grad()
        with torch.autocast("cpu", torch.float16):
            out = call(x)
        for number in range(2):
            scaler.scale(out[:, number].float().pow(2).sum()).backward(retain_graph=retain)
        found.append(gradients(model))
    assert same(*found)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_gradients_needed(policy):
    model = network()
    kept = secondpass.keep(model, policy=policy)
    with torch.no_grad():
        assert not kept(torch.ones(2, 8)).requires_grad
    with torch.inference_mode():
        kept(torch.ones(2, 8))
    model.requires_grad_(False)
    assert not kept(torch.ones(2, 8)).requires_grad
    assert kept.ledger().lines == ()


@pytest.mark.parametrize("policy", POLICIES)
def test_frozen_parts_and_inputs_that_need_a_gradient(policy):
    plain, model = network(), network()
    found = []
    for net, call, retain in ((plain, plain, True), (model, secondpass.keep(model, policy=policy), False)):
        net.first.requires_grad_(False)
        net.blocks[1].requires_grad_(False)
        x = torch.linspace(-1, 1, 32).reshape(4, 8).requires_grad_()
        zoo.seed(8)
        out = call(x)
        for number in range(2):
            out[:, number].sum().backward(retain_graph=retain)
        found.append([g for g in [*gradients(net), x.grad] if g is not None])
    assert same(*found)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_feature_that_a_module_stores(policy):
    """A tensor with history on the module itself: usable, and no leak."""

    class Storing(zoo.Plain):
        def forward(self, x):
            self.feature = torch.tanh(super().forward(x))
            return self.feature * 2

    model = network(Storing)
    kept = secondpass.keep(model, policy=policy)
    x = torch.randn(4, 8)
    for call, retain in ((model, True), (kept, False)):
        model.zero_grad()
        out = call(x)
        side = model.blocks[1].feature.sum()
        out.sum().backward(retain_graph=True if retain else None)
        (out.pow(2).sum() + side).backward(retain_graph=retain)
        found = gradients(model)
        if retain:
            expected = found
    assert same(found, expected)


def test_the_ledger_is_readable():
    model = network()
    kept = secondpass.keep(model, policy="recompute")
    out = kept(torch.randn(4, 8))
    out.sum().backward()
    text = str(kept.ledger())
    assert text.startswith("keep: ") and "policy recompute" in text
    assert "blocks.1: recompute" in text and "pass 1:" in text and "operations run again" in text
    assert kept.ledger().passes[-1].recomputed >= 2
    del out


def test_somebody_else_wraps_the_engine_too():
    """Before, in between and after: each pass is counted once, and all gradients are right."""
    model = network()
    kept = secondpass.keep(model, policy="recompute")
    x, original = torch.randn(4, 8), torch.autograd._engine_run_backward
    outs = [kept(x)]
    ours = torch.autograd._engine_run_backward

    def foreign(t_outputs, *args, **kwargs):
        return ours(t_outputs, *args, **kwargs)

    torch.autograd._engine_run_backward = foreign
    try:
        outs.append(kept(x))
        for out in outs:
            for _ in range(2):
                out.sum().backward()
        assert [call.passes for call in kept._keeper.calls] == [2, 2]
        del out
        outs.clear()
    finally:
        torch.autograd._engine_run_backward = original


@pytest.mark.parametrize(
    "options", [{"policy": "recompute"}, {"policy": "offload"}, {"budget": "60% of full"}], ids=str
)
def test_a_lazy_module_is_made_in_its_first_kept_call(options):
    def run(keep):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.LazyLinear(8), torch.nn.Tanh(), torch.nn.LazyBatchNorm1d())
        call = secondpass.keep(model, **options) if keep else model
        for _ in range(2):
            model.zero_grad()
            out = call(torch.linspace(-1, 1, 12).reshape(3, 4))
            out.sin().sum().backward(retain_graph=not keep)
            out.pow(2).sum().backward()
        return [value.grad for value in model.parameters()]

    assert all(map(torch.equal, run(False), run(True)))
