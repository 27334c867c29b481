# SPDX-License-Identifier: BSD-3-Clause
"""Several losses in one walk, and one gradient per loss."""

import pytest
import torch
import zoo
from torch import nn

import secondpass


def network():
    zoo.seed(3)
    return zoo.stack(zoo.Plain)


def losses(model, count):
    out = model(torch.linspace(-1, 1, 32).reshape(4, 8))
    return [out[:, number].pow(2).sum() for number in range(count)]


def test_backward_is_the_gradient_of_the_sum():
    one, two = network(), network()
    sum(losses(one, 3)).backward()
    secondpass.backward(*losses(two, 3))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_backward_takes_weights_and_nests():
    one, two = network(), network()
    a, b, c = losses(one, 3)
    (2 * a + 0.5 * b - c).backward()
    a, b, c = losses(two, 3)
    secondpass.backward([a, {"b": b}], c, weights=[2.0, torch.tensor(0.5), -1])
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_backward_refuses():
    with pytest.raises(ValueError, match="at least one loss"):
        secondpass.backward()
    found = losses(network(), 2)
    with pytest.raises(ValueError, match=r"one factor per loss. \(got 1 for 2\)"):
        secondpass.backward(*found, weights=[1.0])


@pytest.mark.parametrize(
    "form",
    [
        tuple, set, iter, lambda found: {str(n): loss for n, loss in enumerate(found)},
        lambda found: {str(n): loss for n, loss in enumerate(found)}.values(), lambda found: (loss for loss in found),
        lambda found: [found[0], {"rest": found[1:]}],
    ],
    ids=["tuple", "set", "iterator", "dict", "view", "generator", "nested"],
)  # fmt: skip
def test_losses_come_in_any_form(form):
    one, two = network(), network()
    sum(losses(one, 3)).backward()
    secondpass.backward(form(losses(two, 3)), inputs=(p for p in two.parameters()))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)
    inputs = list(one.parameters())
    found = secondpass.grads(form(losses(one, 3)), one.parameters())
    if form is not set:
        check(list(found.values()) if isinstance(found, dict) else found, expected_rows(one, 3, inputs))


@pytest.mark.parametrize("wrong", [3.0, None, "loss", [1, 2]], ids=str)
def test_what_is_no_loss_raises(wrong):
    model = network()
    (loss,) = losses(model, 1)
    with pytest.raises(TypeError, match="each loss should be a tensor"):
        secondpass.backward(loss, wrong)
    with pytest.raises(TypeError, match="each loss should be a tensor"):
        secondpass.grads([loss, wrong], model.parameters())
    with pytest.raises(ValueError, match="each loss should have a history"):
        secondpass.backward(loss, loss.detach())
    with pytest.raises(ValueError, match="each loss should be a scalar"):
        secondpass.backward(loss * torch.ones(2))


def test_weights_that_learn():
    one, two = network(), network()
    factors = torch.tensor([0.5, 2.0, -1.0], requires_grad=True)
    found = losses(one, 3)
    sum(f * loss for f, loss in zip(factors, found, strict=True)).backward()
    expected, factors.grad = factors.grad, None
    secondpass.backward(losses(two, 3), weights=factors)
    torch.testing.assert_close(factors.grad, expected)
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_rows_by_name():
    model = network()
    parameters = dict(model.named_parameters())
    expected = expected_rows(model, 3, list(parameters.values()))
    tasks = ["depth", "edges", "words"]
    found = secondpass.grads(dict(zip(tasks, losses(model, 3), strict=True)), parameters)
    assert list(found) == tasks and list(found["edges"]) == list(parameters)
    check([list(row.values()) for row in found.values()], expected)
    found = secondpass.grads(losses(model, 3), parameters, stacked=True)
    assert list(found) == list(parameters)
    check([list(found.values())], [stacked(expected)])


@pytest.mark.parametrize("kept", [False, True], ids=["plain", "kept"])
def test_rows_with_a_history(kept):
    model = network()
    parameters = list(model.parameters())
    call = secondpass.keep(model, policy="recompute") if kept else model

    def penalty(rows):
        return sum(value.pow(2).sum() for row in rows for value in row if value is not None)

    rows = [
        torch.autograd.grad(loss, parameters, create_graph=True, allow_unused=True) for loss in losses(model, 3)
    ]  # fmt: skip
    expected = torch.autograd.grad(penalty(rows), parameters, allow_unused=True)
    found = secondpass.grads(losses(call, 3), parameters, create_graph=True)
    check([torch.autograd.grad(penalty(found), parameters, allow_unused=True)], [expected])


def expected_rows(model, count, inputs):
    return [
        torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
        for loss in losses(model, count)
    ]  # fmt: skip


def check(found, expected):
    assert len(found) == len(expected)
    for row, other in zip(found, expected, strict=True):
        for a, b in zip(row, other, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(a, b)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("budget", [None, 1, "1GB"])
def test_rows_of_the_jacobian(count, budget):
    model = network()
    inputs = list(model.parameters())
    expected = expected_rows(model, count, inputs)
    check(secondpass.grads(losses(model, count), inputs, budget=budget), expected)


def stacked(rows):
    """What rows come to: zeros where one is missing, nothing where all are."""
    columns = []
    for column in zip(*rows, strict=True):
        like = next((value for value in column if value is not None), None)
        full = [torch.zeros_like(like) if value is None else value for value in column] if like is not None else None
        columns.append(None if full is None else torch.stack(full))
    return columns


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("budget", [None, 1, "20KB", "1GB"])
def test_stacked(count, budget):
    model = network()
    inputs = list(model.parameters())
    expected = stacked(expected_rows(model, count, inputs))
    for _ in range(12):  # each way is tried
        check([secondpass.grads(losses(model, count), inputs, budget=budget, stacked=True)], [expected])


def test_stacked_where_inputs_belong_to_some_losses():
    zoo.seed(1)
    a, b, unused = (torch.randn(3, requires_grad=True) for _ in range(3))
    heads = [torch.randn(3, requires_grad=True) for _ in range(3)]
    inputs = [a, *heads, b, unused]

    def make():
        shared = torch.sin(a)
        return [*((shared * head).sum() for head in heads), b.exp().sum(), (shared * b).sum()]

    expected = stacked([torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True) for loss in make()])
    for budget in (None, 1, 100, "1GB"):
        for _ in range(12):
            check([secondpass.grads(make(), inputs, budget=budget, stacked=True)], [expected])
    check(
        [secondpass.grads([a.sum(), b.exp().sum()], [a, b], stacked=True)],
        [[torch.stack([torch.ones(3), torch.zeros(3)]), torch.stack([torch.zeros(3), b.detach().exp()])]],
    )


def test_heads_of_their_own():
    zoo.seed(1)
    trunk, heads = zoo.stack(zoo.Attention), nn.ModuleList(nn.Linear(8, 1) for _ in range(4))
    x = torch.randn(4, 8, requires_grad=True)
    inputs = [x, *trunk.parameters(), *heads.parameters()]

    def make():
        zoo.seed(2)
        out = trunk(x)
        return [head(torch.tanh(out)).square().mean() + out[0, 0] * head.weight.sum() for head in heads]

    expected = [torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True) for loss in make()]
    check(secondpass.grads(make(), inputs), expected)


def test_an_input_that_is_an_activation_and_a_shared_leaf():
    w = torch.randn(4, requires_grad=True)
    h = torch.sin(w)
    found = [(h * w).sum(), h.pow(2).sum() + w.sum(), w.exp().sum()]
    expected = [torch.autograd.grad(loss, [w, h], retain_graph=True, allow_unused=True) for loss in found]
    check(secondpass.grads(found, [w, h], retain_graph=True), expected)
    check(secondpass.grads(found, [h, w]), [row[::-1] for row in expected])


def test_losses_that_share_nothing_and_losses_that_are_one():
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    check(secondpass.grads([a.sum(), b.exp().sum()], [a, b]), [(torch.ones(2), None), (None, b.detach().exp())])
    loss = (a * a).sum()
    check(secondpass.grads([loss, loss], [a]), [(2 * torch.ones(2),)] * 2)
    check(secondpass.grads(torch.stack([a[0] * 2, a[1] * 3]), [a])[:1], [(torch.tensor([2.0, 0.0]),)])


def test_operations_that_cannot_be_batched():
    class Stubborn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * torch.tensor(x.exp().tolist()) * float(g.sum() == g.sum())

    w = torch.randn(3, requires_grad=True)
    h = Stubborn.apply(w)
    found = [h[0] * 2, h[1] * 3, h[2], h.sum()]
    expected = [torch.autograd.grad(loss, [w], retain_graph=True) for loss in found]
    check(secondpass.grads(found, [w]), expected)


def test_a_walk_that_fails_half_way_spends_nothing():
    class Stubborn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * len(g.tolist())

    model, w = network(), torch.randn(4, 8, requires_grad=True)
    inputs = [w, *model.parameters()]

    def make():
        return list(model(torch.sin(Stubborn.apply(w))).sum(0).unbind())

    expected = [torch.autograd.grad(loss, inputs, retain_graph=True) for loss in make()]
    for _ in range(3):
        check(secondpass.grads(make(), inputs), expected)


def test_a_graph_of_the_same_sizes_with_another_operation():
    """That one like it went well does not mean that this one will: it must not be spent by trying."""

    class Stubborn(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * len(g.tolist())

    model, w = network(), torch.randn(4, 8, requires_grad=True)
    inputs = [w, *model.parameters()]
    for act in [torch.sin] * 9 + [Stubborn.apply] * 2:
        first, second = (list(model(torch.cos(act(w))).sum(0).unbind()) for _ in range(2))
        expected = [torch.autograd.grad(loss, inputs, retain_graph=True) for loss in first]
        check(secondpass.grads(second, inputs), expected)


@pytest.mark.parametrize("count", [2, 5])
def test_the_graph_is_spent_afterwards_unless_retained(count):
    for _ in range(9):  # while sizes are tried, and afterwards
        model = network()
        found = losses(model, count)
        secondpass.grads(found, list(model.parameters()), retain_graph=True)
        secondpass.grads(found, list(model.parameters()))
        with pytest.raises(RuntimeError, match="second time"):
            found[0].backward()


def test_grads_over_a_kept_model():
    model = network()
    inputs = list(model.parameters())
    expected = expected_rows(model, 3, inputs)
    for policy in ("retain", "recompute", "offload"):
        kept = secondpass.keep(model, policy=policy)
        check(secondpass.grads(losses(kept, 3), inputs), expected)


def test_grads_refuses():
    w = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="at least one loss and one input"):
        secondpass.grads([], [w])
    with pytest.raises(ValueError, match="should be a scalar"):
        secondpass.grads([w * 2, w.sum()], [w])
    with pytest.raises(ValueError, match="does not require grad"):
        secondpass.grads([torch.ones(())], [w])
    with pytest.raises(ValueError, match="each input should require grad"):
        secondpass.grads([w.sum()], [torch.ones(2)])
