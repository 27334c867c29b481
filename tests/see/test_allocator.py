# SPDX-License-Identifier: BSD-3-Clause
"""The ledger's total against the allocator's own count, on networks of the usual kinds."""

from __future__ import annotations

import gc

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

import secondpass

from .models import MODELS


def allocated(forward):
    """What a forward leaves allocated: PyTorch's allocator counts each of its own calls."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        loss = forward()
    events = seen.profiler.kineto_results.events()
    return loss, sum(e.nbytes() for e in events if e.name() == "[memory]")


@pytest.mark.parametrize("name", MODELS)
def test_cpu(name):
    torch.manual_seed(0)
    forward = MODELS[name]("cpu")
    forward().backward()  # what is made once, and stays
    loss, real = allocated(forward)
    ledger = secondpass.ledger(loss)
    assert ledger.complete
    told = ledger.total + loss.untyped_storage().nbytes()
    assert abs(told - real) <= 0.03 * real, (told, real, str(ledger))


def test_a_checkpointed_part_counts_what_it_keeps():
    net = torch.nn.Sequential(*(torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh()) for _ in range(6)))
    x = torch.randn(256, 64)

    def forward():
        h = x
        for block in net:
            h = checkpoint(block, h, use_reentrant=False)
        return h.square().mean()

    forward().backward()
    loss, real = allocated(forward)
    told = secondpass.ledger(loss).total + 4
    assert abs(told - real) <= 0.03 * real, (told, real)


def requested():
    """What was asked for. `memory_allocated` counts blocks, each of which may be up to 1 MiB larger."""
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", MODELS)
def test_cuda(name):
    forward = MODELS[name]("cuda", 8)
    forward().backward()
    gc.collect()
    before = requested()
    loss = forward()
    real = requested() - before
    ledger = secondpass.ledger(loss)
    assert requested() - before == real, "a ledger allocates nothing on the device"
    told = ledger.total + loss.untyped_storage().nbytes()
    assert abs(told - real) <= 0.03 * real, (told, real, str(ledger))
