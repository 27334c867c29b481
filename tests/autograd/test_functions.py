# SPDX-License-Identifier: BSD-3-Clause
"""Functions that PyTorch fuses or composes in its own way: the same values and gradients, by other nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .twin import LIBRARIES, array

EXPRESSIONS = [
    ("torch.einsum('ij,jk->ik', x, y)", ((2, 3), (3, 4))),
    ("torch.einsum('bhid,bhjd->bhij', x, y)", ((2, 2, 3, 4), (2, 2, 5, 4))),
    ("torch.einsum('ij->j', x)", ((2, 3),)),
    ("torch.einsum('i,j', x, y)", ((2,), (3,))),
    ("torch.einsum('ij,jk,kl->il', x, y, z)", ((2, 3), (3, 4), (4, 2))),
    ("torch.einsum('bij,bj->bi', x, y)", ((2, 3, 4), (2, 4))),
    ("F.cross_entropy(x, y.softmax(-1))", ((2, 3), (2, 3))),
    ("F.linear(x.transpose(0, 1), y, z)", ((2, 3, 4), (5, 4), (5,))),
]


@pytest.mark.parametrize(("expression", "shapes"), EXPRESSIONS)
def test_values_and_gradients(expression: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    found: list[Any] = []
    for names in LIBRARIES.values():
        torch, draw = names["torch"], np.random.default_rng(3)
        leaves = [torch.from_numpy(draw.uniform(-1, 1, s)).requires_grad_() for s in shapes]
        out = eval(expression, {**names, **dict(zip("xyz", leaves, strict=False))})
        (out * out).sum().backward()
        found.append([array(out), *(array(leaf.grad) for leaf in leaves)])
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_checkpoint_draws_the_same_dropout_again(library: str, reentrant: bool) -> None:
    names = LIBRARIES[library]
    torch, functional = names["torch"], names["F"]
    x = torch.ones(100, requires_grad=True)
    out = torch.utils.checkpoint.checkpoint(lambda t: functional.dropout(t * t, 0.5, True), x, use_reentrant=reentrant)
    torch.rand(3)
    out.sum().backward()
    np.testing.assert_allclose(array(x.grad), array(out) * 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_saved_tensors_hooks_see_what_is_saved(library: str) -> None:
    torch = LIBRARIES[library]["torch"]
    seen: list[tuple[int, ...]] = []
    x = torch.ones(2, 3, requires_grad=True)

    def pack(t: Any) -> Any:
        seen.append(tuple(t.shape))
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t * 2):
        y = x.exp().sum()
    y.backward()
    assert seen == [(2, 3)]
    np.testing.assert_allclose(array(x.grad), 2 * np.e * np.ones((2, 3)), rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_hooks_change_what_flows_and_can_be_removed(library: str) -> None:
    torch = LIBRARIES[library]["torch"]
    x = torch.ones(2, requires_grad=True)
    y = x * 3
    y.retain_grad()
    handle = y.register_hook(lambda g: g * 10)
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    assert x.grad.tolist() == [33, 33]
    assert y.grad.tolist() == [11, 11]
