# SPDX-License-Identifier: BSD-3-Clause
"""Every row of the op table against PyTorch in float64: values, gradients of both orders, and the graphs themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from secondpass.autograd.ops import OPS

from .cases import CASES
from .twin import LIBRARIES, array, graph


def changed(base: Any, change: Any) -> Any:
    """A tensor after an in-place change of it or of one of its views."""
    change(base)
    return base


def run(library: str, expression: str, shapes: tuple[tuple[int, ...], ...]) -> dict[str, Any]:
    """Everything there is to compare about an expression."""
    names = LIBRARIES[library]
    torch = names["torch"]
    draw = np.random.default_rng(5)
    leaves = [torch.from_numpy(np.array(draw.uniform(0.3, 1.3, s))).requires_grad_() for s in shapes]
    scope = {
        **names, **dict(zip("xyz", leaves, strict=False)), "changed": changed,
        "mask": torch.tensor([[True, False, True], [False, True, True]]), "index": torch.tensor([0, 1]),
        "column": torch.tensor([[0], [1]]), "target": torch.from_numpy(draw.uniform(0.1, 0.9, (2, 3))),
    }  # fmt: skip
    known = {id(leaf): name for leaf, name in zip(leaves, "xyz", strict=False)}
    out = eval(expression, scope)
    seen = {"value": array(out), "graph": graph(out.grad_fn, known), "dtype": str(out.dtype)}
    if out.grad_fn is None:
        return seen
    seed = torch.from_numpy(np.array(draw.uniform(0.3, 1.3, tuple(out.shape)))).to(out.dtype).requires_grad_()
    known[id(seed)] = "seed"
    first = torch.autograd.grad(out, leaves, seed, create_graph=True, allow_unused=True)
    seen["first"] = [None if g is None else array(g) for g in first]
    seen["first graph"] = [None if g is None else graph(g.grad_fn, known) for g in first]
    mixed = sum((g * g).sum() for g in first if g is not None and g.requires_grad)
    if hasattr(mixed, "requires_grad") and mixed.requires_grad:
        second = torch.autograd.grad(mixed, [*leaves, seed], allow_unused=True)
        seen["second"] = [None if g is None else array(g) for g in second]
    return seen


@pytest.mark.parametrize(("expression", "shapes"), CASES, ids=[f"{e} {s}" for e, s in CASES])
def test_row_is_pytorchs(expression: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    theirs, ours = run("pytorch", expression, shapes), run("spec", expression, shapes)
    assert ours["dtype"] == theirs["dtype"]
    assert ours["graph"] == theirs["graph"]
    tight = "float32" not in ours["dtype"]
    for order in ("value", "first", "second"):
        a, b = theirs.get(order), ours.get(order)
        assert (a is None) == (b is None), order
        for p, q in zip(a, b, strict=True) if isinstance(a, list) else [(a, b)]:
            # PyTorch hands zeros along where we know that nothing flows, and the other way round.
            p, q = (np.zeros(()) if v is None else v for v in (p, q))
            np.testing.assert_allclose(q, p + np.zeros_like(q), rtol=1e-9 if tight else 1e-5, atol=1e-12, err_msg=order)
    assert ours.get("first graph") == theirs.get("first graph")


def test_every_row_has_a_case() -> None:
    met: set[str] = set()

    def names(tree: Any) -> None:
        if isinstance(tree, tuple) and tree and isinstance(tree[0], str):
            met.add(tree[0])
            for child, _ in tree[2:]:
                names(child)

    for expression, shapes in CASES:
        seen = run("spec", expression, shapes)
        for tree in (seen["graph"], *seen.get("first graph", ())):
            names(tree)
    inside = {
        "torch::autograd::CopyBackwards",
        "FillBackward2",
        "FillBackward3",
        "UnsafeSplitBackward0",
        "ScatterBackward1",
    }
    assert {op.node for op in OPS.values() if op.edges} - met - inside == set()
