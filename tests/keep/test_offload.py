# SPDX-License-Identifier: BSD-3-Clause
"""What goes to the host leaves while the forward runs: never more of it is here than the plan has room for."""

import gc

import pytest
import torch
from torch import nn

import secondpass
from secondpass.keeper.recompute.op import Value
from secondpass.keeper.saved.host import HostCopy


class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def on_device():
    """Bytes of saved tensors that are not on the host alone."""
    found = {}
    with torch._C.DisableTorchFunction():  # who asks for memory in sight of keep may write there
        for thing in gc.get_objects():
            if type(thing) is HostCopy:
                for memory in (thing.source, thing.back):
                    if memory is not None:
                        found[memory.untyped_storage()._cdata] = memory.untyped_storage().nbytes()
            elif type(thing) is Value and thing.data is not None and thing.counted:
                found[thing.data.untyped_storage()._cdata] = thing.counted
    return sum(found.values())


@pytest.mark.parametrize("options", [{}, {"budget": "50% of full"}, {"budget": "70% of full"}], ids=str)
def test_memory_is_given_back_while_the_forward_runs(options):
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(12)))
    x = torch.randn(16, 32)
    kept = secondpass.keep(model, units=Block, policy="offload", **options)
    seen = []
    for block in model:
        block.register_forward_hook(lambda *_: seen.append(on_device()))
        block.register_full_backward_hook(lambda *_: seen.append(on_device()))

    def passes(call, retain):
        model.zero_grad()
        out = call(x)
        for number in range(2):
            out[:, number].sum().backward(retain_graph=retain)
        return [p.grad.clone() for p in model.parameters()]

    expected = passes(model, True)
    for step in range(4):
        seen.clear()
        assert all(map(torch.equal, passes(kept, None), expected))
        if step:
            plan = kept.plan()
            assert plan.offloaded
            assert max(seen) <= (plan.peak if kept.budget is None else kept.budget)
            assert max(seen) < 0.75 * plan.bytes


def test_what_is_written_to_before_it_leaves_is_an_error():
    class Writes(Block):
        def forward(self, x):
            y = torch.sigmoid(self.up(x))
            y.add_(1)
            return self.down(y)

    model = nn.Sequential(Writes(), Writes())
    kept = secondpass.keep(model, units=Writes, policy="offload")
    out = kept(torch.randn(4, 32))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
