# SPDX-License-Identifier: BSD-3-Clause
"""Run by torchrun: several passes over one forward, against the mean of each rank's own gradients."""

import os
import sys

import torch
import torch.distributed as dist
import zoo
from torch.nn.parallel import DistributedDataParallel

import secondpass

PASSES = 3
OPTIONS = [{}, {"policy": "retain"}, {"policy": "recompute"}, {"policy": "offload"}, {"budget": "1MB"}]


def data(rank, step):
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(100 * step + rank))


def losses(out):
    return [out[:, number].pow(2).mean() for number in range(PASSES)]


def expected(step):
    """What one process would compute over both ranks' data."""
    zoo.seed(3)
    model = zoo.stack(zoo.Plain)
    total = [torch.zeros_like(p) for p in model.parameters()]
    for rank in range(2):
        grads = torch.autograd.grad(sum(losses(model(data(rank, step)))), list(model.parameters()))
        total = [t + g / 2 for t, g in zip(total, grads, strict=True)]
    return total


def check(found, step, what):
    for a, b in zip(found, expected(step), strict=True):
        torch.testing.assert_close(a, b, msg=lambda text: f"{what}, step {step}: {text}")


def ddp():
    rank = dist.get_rank()
    for options in OPTIONS:
        for order in ("keep(ddp)", "ddp(keep)", "unused"):
            zoo.seed(3)
            model = zoo.stack(zoo.Plain)
            unused = order == "unused"
            if order == "ddp(keep)":
                call = DistributedDataParallel(secondpass.keep(model, **options))
            else:
                units = {"units": zoo.Plain} if options and options.get("policy") != "retain" else {}
                parallel = DistributedDataParallel(model, find_unused_parameters=unused)
                call = secondpass.keep(parallel, **options, **units)
            for step in range(3):
                model.zero_grad()
                for loss in losses(call(data(rank, step))):
                    loss.backward()
                check([p.grad for p in model.parameters()], step, f"{order} {options}")
        zoo.seed(3)
        model = zoo.stack(zoo.Plain)
        call = secondpass.keep(DistributedDataParallel(model), **options)
        secondpass.backward(*losses(call(data(rank, 0))))
        check([p.grad for p in model.parameters()], 0, "one walk")
        with call.no_sync():
            losses(call(data(rank, 1)))[0].backward()


def fsdp2():
    from torch.distributed.fsdp import fully_shard

    rank = dist.get_rank()
    for options in OPTIONS:
        zoo.seed(3)
        model = zoo.stack(zoo.Plain)
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        call = secondpass.keep(model, **options)
        for step in range(3):
            model.zero_grad()
            for loss in losses(call(data(rank, step))):
                loss.backward()
            check([p.grad.full_tensor() for p in model.parameters()], step, f"fsdp2 {options}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    {"ddp": ddp, "fsdp2": fsdp2}[sys.argv[1]]()
    dist.barrier()
    print("all right", flush=True)
    os._exit(0)  # PyTorch now and then aborts while it takes gloo's threads down
