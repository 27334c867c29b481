# SPDX-License-Identifier: BSD-3-Clause
"""What `grads` makes apart from the walk, and what it leaves to PyTorch."""

import threading

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import secondpass
from secondpass.keeper.losses import chunks as _chunks
from secondpass.keeper.losses import jacobian as _jacobian
from secondpass.keeper.losses import products as _apart
from secondpass.keeper.losses.layers import survey

WIDTH = 6


class Block(nn.Module):
    def __init__(self, act=nn.functional.gelu, bias=True):
        super().__init__()
        self.act, self.up, self.down = act, nn.Linear(WIDTH, 9, bias=bias), nn.Linear(9, WIDTH, bias=bias)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


def network(depth=2, **options):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, WIDTH), *(Block(**options) for _ in range(depth)))


def losses(out, count=3):
    return [out[..., number].square().sum() * (number + 1) for number in range(count)]


def given(shape=(5, 4), **options):
    return torch.linspace(-1, 1, 20, **options).reshape(shape)


def layers(out, inputs):
    return len(survey([out.grad_fn], inputs).layers)


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """No other way is known, and the budget allows to walk all losses at once."""
    monkeypatch.setattr(_chunks, "_memory", _chunks._Memory())
    monkeypatch.setattr(_jacobian, "Chunks", lambda key, count, ways: _chunks.Chunks(key, count, ways[1:2]))


def same(make, inputs, exactly=True):
    expected = [torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True) for loss in make()]
    found = secondpass.grads(make(), inputs, budget="1GB")
    for row, other in zip(found, expected, strict=True):
        for one, two in zip(row, other, strict=True):
            assert (one is None) == (two is None)
            if one is not None:
                assert one.dtype == two.dtype
                torch.testing.assert_close(
                    one, two, rtol=None if not exactly else 1e-12, atol=None if not exactly else 1e-12
                )


ACTS = [
    nn.functional.gelu,
    nn.functional.silu,
    nn.functional.mish,
    nn.functional.elu,
    nn.functional.softplus,
    torch.tanh,
]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("shape", [(5, 4), (1, 5, 4)], ids=["rows", "batches"])
def test_products_and_derivatives(act, bias, shape):
    model = network(act=act, bias=bias).double()
    inputs = list(model.parameters())
    x = given(shape, dtype=torch.float64)
    # The first layer's input has no history: the engine would not come to it if it were not for its weight.
    assert layers(model(x), inputs) == 4
    same(lambda: losses(model(x)), inputs)


def test_nothing_but_weights():
    model = network(3).double()
    x = given(dtype=torch.float64)
    for inputs in (
        [model[1].up.weight],
        [model[3].down.weight, model[2].up.weight],
        [model[1].up.bias, model[0].weight],
    ):
        same(lambda: losses(model(x)), inputs)
    before = x.requires_grad_()
    same(lambda: losses(model(before)), [before, model[2].up.weight, model[2].up.bias])


def test_an_activation_is_asked_for():
    model = network(3).double()
    x = given(dtype=torch.float64)
    h = model[:2](x)
    inputs = [h, *model[2].parameters()]
    assert layers(model[2](h), inputs) == 2
    same(lambda: losses(model[2](h)), inputs)


def test_one_weight_twice():
    torch.manual_seed(0)
    layer, last = nn.Linear(4, 4).double(), nn.Linear(4, 4).double()
    x = given(dtype=torch.float64)
    inputs = [*layer.parameters(), *last.parameters()]
    assert layers(last(layer(torch.tanh(layer(x)))), inputs) == 1
    same(lambda: losses(last(layer(torch.tanh(layer(x))))), inputs)


def test_hooks_are_heeded():
    model = network().double()
    x = given(dtype=torch.float64)
    inputs = list(model.parameters())
    model[1].up.weight.register_hook(lambda g: g * 2)
    model[2].down.bias.register_hook(lambda g: g * 3)

    def watched():
        h = model[0](x)
        h.register_hook(lambda g: g * 0.5)
        h = model[1](h)
        h.grad_fn.register_prehook(lambda g: (g[0] * 4,))
        up = model[2].up(model[2].norm(h))
        up.register_hook(lambda g: g * 0.25)
        up.grad_fn.register_hook(lambda results, _: tuple(r if r is None else r * 2 for r in results))
        return losses(h + model[2].down(nn.functional.gelu(up)))

    assert layers(watched()[0], inputs) == 1
    same(watched, inputs)


def test_an_activation_whose_results_are_watched():
    x = given((5, 4), dtype=torch.float64).requires_grad_()
    seen = []

    def make():
        y = nn.functional.gelu(x * 2)
        y.grad_fn.register_hook(lambda results, gradients: seen.append((results[0].shape, gradients[0].shape)))
        return losses(y)

    same(make, [x])
    assert seen


def test_packed_away():
    model = network().double()
    x = given(dtype=torch.float64)
    inputs = list(model.parameters())

    def checkpointed():
        return losses(model[2](checkpoint(model[1], model[0](x), use_reentrant=False)))

    def saved():
        with torch.autograd.graph.save_on_cpu():
            return losses(model(x))

    assert layers(saved()[0], inputs) == 0
    same(checkpointed, inputs)
    same(saved, inputs)


def test_written_to_since():
    model = network().double()
    h = model[:2](given(dtype=torch.float64))
    inside = torch.tanh(h)
    found = losses(model[2].up(inside))
    inside.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        secondpass.grads(found, list(model.parameters()), budget="1GB")


def test_no_hook_stays_behind():
    model = network().double()
    inputs, x = list(model.parameters()), given(dtype=torch.float64)
    found = losses(model(x))
    expected = torch.autograd.grad(found[0], inputs, retain_graph=True)
    secondpass.grads(found, inputs, budget="1GB", retain_graph=True)
    for one, two in zip(torch.autograd.grad(found[0], inputs, retain_graph=True), expected, strict=True):
        assert torch.equal(one, two)
    todo, seen = [found[0].grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [child for child, _ in node.next_functions]
            if not node.name().endswith("AccumulateGrad"):
                handle = node.register_prehook(lambda _: None)
                assert len(handle.hooks_dict_ref()) == 1
                handle.remove()


def test_another_pass_at_the_same_time(monkeypatch):
    """It goes over the nodes on which the hooks are. Its gradients must not be taken for ours."""
    model = network().double()
    inputs, x = list(model.parameters()), given(dtype=torch.float64)
    expected = [torch.autograd.grad(loss, inputs, retain_graph=True) for loss in losses(model(x))]
    found = losses(model(x))
    theirs, plain = [], _jacobian.Jacobian._gradients

    def crossed(self, roots, seeds, places, final, **options):
        result = plain(self, roots, seeds, places, final, **options)
        if options:
            thread = threading.Thread(
                target=lambda: theirs.extend(torch.autograd.grad(found[0], inputs, retain_graph=True))
            )
            thread.start()
            thread.join()
        return result

    monkeypatch.setattr(_jacobian.Jacobian, "_gradients", crossed)
    rows = secondpass.grads(found, inputs, budget="1GB", retain_graph=True)
    for row, other in zip([*rows, theirs], [*expected, expected[0]], strict=True):
        for one, two in zip(row, other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


def test_half_precision_is_not_rounded_twice():
    x = torch.linspace(-3, 3, 24).reshape(4, 6).half().requires_grad_()
    y = nn.functional.gelu(x)
    found = [(y.float() * torch.randn(4, 6)).sum() for _ in range(3)]
    expected = [torch.autograd.grad(loss, [x], retain_graph=True) for loss in found]
    for (one,), (two,) in zip(secondpass.grads(found, [x], budget="1GB"), expected, strict=True):
        assert torch.equal(one, two)


def test_the_hooks_are_used(monkeypatch):
    """The tests above would pass without them."""
    made = []
    plain = _apart.together

    def spy(found, count):
        made.append((len(found.layers), len(found.factors), count))
        return plain(found, count)

    monkeypatch.setattr(_apart, "together", spy)
    model = network()
    secondpass.grads(losses(model(given())), list(model.parameters()), budget="1GB")
    assert made == [(4, 2, 3)]
