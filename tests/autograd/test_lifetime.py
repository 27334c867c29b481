# SPDX-License-Identifier: BSD-3-Clause

"""Who is spent, when, in which order, and what keeps a graph alive."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch as pytorch

import secondpass.autograd as torch

LIBRARIES = pytest.mark.parametrize("lib", [torch, pytorch], ids=["spec", "pytorch"])


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "make", ["x.tanh()", "x * x", "x.exp().clone().mul_(2)", "x.clone()[0].tanh_()", "x.max(0)[0]"]
)
def test_a_graph_dies_with_its_tensor(make: str) -> None:
    x = torch.ones(2, 3, requires_grad=True)
    y = eval(make, {"x": x})
    node = weakref.ref(y.grad_fn)
    tensor = weakref.ref(y)
    del y
    assert node() is None
    assert tensor() is None


@pytest.mark.usefixtures("no_collector")
def test_a_pass_lets_go_of_what_was_saved() -> None:
    x = torch.ones(3, requires_grad=True)
    middle = x * 2
    held = weakref.ref(middle)
    loss = (middle * middle).sum()
    del middle
    assert held() is not None
    loss.backward()
    assert held() is None


def test_a_trace_keeps_nothing_alive() -> None:
    with torch.trace():
        x = torch.ones(3, requires_grad=True)
        loss = (x * x).sum()
        loss.backward()
        node, leaf = weakref.ref(loss.grad_fn), weakref.ref(x)
        del x, loss
        gc.collect()
        assert node() is None
        assert leaf() is None


def order(lib: Any, build: Any) -> list[str]:
    """The names of the nodes in the order in which a pass walks them."""
    _leaf, root = build(lib)
    walked: list[Any] = []
    if lib is torch:
        spent = torch.passes.Walk.run
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.passes.Walk, "run", lambda self, *how: walked.append(self) or spent(self, *how))
            root.backward()
        return [n.name() for n in walked[0].walked if not hasattr(n, "variable")]
    todo, seen = [root.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if not hasattr(node, "variable"):
            node.register_prehook(lambda grads, node=node: walked.append(node.name()))
        todo += [f for f, _ in node.next_functions]
    root.backward()
    return walked


def diamond(lib: Any) -> tuple[Any, Any]:
    x = lib.ones(3, requires_grad=True)
    a, b = x.sin(), x.exp()
    c = a.tanh()
    d = (b * a).abs()
    return x, (c + d.sqrt() + a).sum()


def ladder(lib: Any) -> tuple[Any, Any]:
    x = h = lib.ones(3, requires_grad=True)
    outs = []
    for _ in range(4):
        h = (h * x).tanh()
        outs.append(h.square())
    return x, lib.stack(outs).sum()


@pytest.mark.parametrize("build", [diamond, ladder])
def test_nodes_are_walked_in_pytorchs_order(build: Any) -> None:
    assert order(torch, build) == order(pytorch, build)


@LIBRARIES
def test_only_the_path_is_spent(lib: Any) -> None:
    x, y = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
    left, right = x.exp(), y.exp()
    lib.autograd.grad((left * right).sum(), x)
    right.sum().backward()  # not on the path to x: still there
    with pytest.raises(RuntimeError, match="second time"):
        left.sum().backward()


@LIBRARIES
def test_what_saved_nothing_is_walked_again_and_counted_twice(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    y = (x + 1).view(1, 2).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [2, 2]


@LIBRARIES
def test_a_failing_pass_has_spent_what_it_walked(lib: Any) -> None:
    x = lib.ones(2, requires_grad=True)
    shared = x.exp()
    shared.sum().backward()
    new = shared.sin()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="second time"):
            new.sum().backward()
    with pytest.raises(RuntimeError):
        _ = new.grad_fn._saved_self


@LIBRARIES
def test_freed_comes_before_changed(lib: Any) -> None:
    w = lib.ones(2, requires_grad=True)
    y = (w * w).sum()
    y.backward()
    with lib.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = (w * w).sum()
    with lib.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_the_table_needs_no_numpy() -> None:
    code = """
import sys
sys.modules["numpy"] = None
from secondpass.autograd.ops import OPS
assert OPS["tanh"].saved({"self"}) == ("result",)
assert "numpy" not in {n for n, m in sys.modules.items() if m is not None}
"""
    subprocess.run([sys.executable, "-c", code], check=True)
