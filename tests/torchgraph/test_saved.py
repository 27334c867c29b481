# SPDX-License-Identifier: BSD-3-Clause
"""What nodes have saved is told without running anybody's hooks, as this PyTorch says it and as one before 2.10 would."""

from __future__ import annotations

import gc
import sys

import pytest

torch = pytest.importorskip("torch")

from torch.utils.checkpoint import checkpoint  # noqa: E402

from secondpass.torchgraph import changed, freed, hook_region, saved, saved_tensors, slots  # noqa: E402


@pytest.fixture(params=["as it is", "before 2.10"], autouse=True)
def version(request, monkeypatch):
    if request.param == "before 2.10":
        monkeypatch.setattr(saved, "CANNOT_SAY", True)
    return request.param


@pytest.fixture
def w():
    return torch.ones(3, requires_grad=True)


def told(node):
    return [(slot.name, slot.freed, slot.hook and hook_region(slot.hook)) for slot in slots(node)]


def test_a_pass_frees(w):
    y = w.exp()
    node = y.grad_fn
    assert freed(node) is False
    assert [name for name, _ in saved_tensors(node)] == ["result"]
    y.sum().backward(retain_graph=True)
    assert freed(node) is False
    y.sum().backward()
    assert freed(node) is True
    assert told(node) == [("result", True, None)]
    assert saved_tensors(node) == []


def test_a_node_that_saves_nothing_is_neither(w):
    assert freed((w + 1).grad_fn) is None


@pytest.mark.parametrize("kind", ["hooks", "offload", "checkpoint"])
def test_no_hook_is_run(w, kind):
    ran = []

    def unpack(value):
        ran.append(value)
        return value

    def square(x):
        ran.append(x)
        return x**2

    before = sys.getprofile(), gc.isenabled()
    if kind == "checkpoint":
        y = checkpoint(square, w, use_reentrant=False)
    else:
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda value: value, unpack)
        with torch.autograd.graph.save_on_cpu() if kind == "offload" else hooks:
            y = w**2
    node = y.grad_fn
    forwards = len(ran)
    assert freed(node) is False
    assert told(node) == [("self", False, kind)]
    assert changed(node) is None
    assert len(ran) == forwards
    y.sum().backward()
    assert freed(node) is True
    assert torch.equal(w.grad, 2 * w.detach())
    assert (sys.getprofile(), gc.isenabled()) == before


def test_what_was_written_to_is_there(w):
    y = w.exp()
    node = y.grad_fn
    with torch.no_grad():
        y.mul_(2)
    assert changed(node) == "result"
    assert freed(node) is False
    assert told(node) == [("result", False, None)]
    assert saved.storage(saved.written_to(node, "result")) == saved.storage(y)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_function_of_ones_own_may_save_nothing_in_some_places(w):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient

    y = Double.apply(w)
    node = y.grad_fn
    assert freed(node) is False
    assert told(node) == [("tensors[0]", False, None)]
    y.sum().backward()
    assert freed(node) is True
    assert told(node) == [("tensors", True, None)]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_what_a_function_of_ones_own_saved_and_was_written_to(w, which, version):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            out = torch.exp(x) * y
            ctx.save_for_backward(x, y, out)
            return out

        @staticmethod
        def backward(ctx, gradient):
            _, y, out = ctx.saved_tensors
            return gradient * out, gradient * out / y

    x, y = w + 1, torch.ones(3)
    out = Exp.apply(x, y)
    node = out.grad_fn
    assert changed(node) is None
    (x, y, out)[which].add_(1)
    name = changed(node)
    if version == "as it is":
        assert name == f"tensors[{which}]"
        assert saved.storage(saved.written_to(node, name)) == saved.storage((x, y, out)[which])
    else:
        assert name.startswith("tensors")
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
