# SPDX-License-Identifier: BSD-3-Clause
"""The most bytes that are alive, by the count of every storage that an operation makes."""

import pytest
import torch
from test_autocast import Block
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

import secondpass


class Live(TorchDispatchMode):
    """Counts the bytes of all storages that are made within, as long as they are alive."""

    def __init__(self):
        super().__init__()
        self.peak = 0
        self._known = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        given = {t.untyped_storage()._cdata for t in tree_iter((args, kwargs)) if isinstance(t, torch.Tensor)}
        for key in [key for key, (weak, _) in self._known.items() if torch.UntypedStorage._expired(weak)]:
            torch.UntypedStorage._free_weak_ref(self._known.pop(key)[0])
        for tensor in tree_iter(out):
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                if storage._cdata not in given and storage._cdata not in self._known:
                    self._known[storage._cdata] = storage._weak_ref(), storage.nbytes()
        self.peak = max(self.peak, sum(size for _, size in self._known.values()))
        return out


@pytest.fixture(autouse=True)
def plain_kernels():
    with torch.backends.mkldnn.flags(enabled=False):
        yield


@pytest.mark.parametrize("amp", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize("share", [0.8, 0.6, 0.5])
def test_it_stays_within_the_budget(share, amp):
    """Also in the first pass, which finds the last unit's tensors still there, and while autocast holds its casts."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(32) for _ in range(8)))
    x = torch.randn(4, 32, 32)
    for p in model.parameters():
        p.grad = torch.zeros_like(p)

    def peak(call, retain):
        live = Live()
        with live:
            with torch.autocast("cpu", torch.bfloat16, enabled=amp):
                out = call(x)
            for number in range(2):
                out[..., number].float().pow(2).mean().backward(retain_graph=retain)
        return live.peak

    budget = int(peak(model, True) * share)
    kept = secondpass.keep(model, units=Block, budget=budget)
    peak(kept, None)
    for _ in range(2):
        assert peak(kept, None) <= budget


def test_a_share_that_cannot_be_met_is_the_least_that_can():
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(4)))
    x = torch.randn(2, 16, 16)
    expected = torch.autograd.grad(model(x).sum(), list(model.parameters()))
    kept = secondpass.keep(model, units=Block, budget="1% of full")
    with pytest.warns(UserWarning, match="1% of full are .* and the least that can be met here is .* of full"):
        out = kept(x)
    assert kept.plan().peak <= kept.budget
    assert all(map(torch.equal, torch.autograd.grad(out.sum(), list(model.parameters())), expected))
