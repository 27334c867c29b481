import argparse
import random

import torch

from automaton import CellRule, seed_grid
from pool import SamplePool


def target_disc(side, radius):
    axis = torch.arange(side).float() - (side - 1) / 2
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    inside = ((yy ** 2 + xx ** 2).sqrt() < radius).float()
    ring = ((yy ** 2 + xx ** 2).sqrt() < radius / 2).float()
    return torch.stack([inside, ring, 0.3 * inside])


def damage(grids, rng):
    side = grids.shape[-1]
    mask = torch.ones_like(grids[:, :1])
    for row in range(len(grids)):
        if rng.random() < 0.5:
            top, left = rng.randrange(side - 3), rng.randrange(side - 3)
            mask[row, :, top:top + 3, left:left + 3] = 0
    return grids * mask


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--iterations", type=int, default=18)
    p.add_argument("--pool", type=int, default=16)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--side", type=int, default=12)
    p.add_argument("--channels", type=int, default=8)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)

    rule = CellRule(args.channels)
    target = target_disc(args.side, 4.0)
    blank = seed_grid(args.channels, args.side)
    pool = SamplePool(blank, args.pool, rng)
    optimizer = torch.optim.Adam(rule.parameters(), lr=4e-3)

    def pixel_error(grids):
        return (grids[:, :3] - target).pow(2).mean(dim=(1, 2, 3))

    trace = []
    for it in range(args.iterations):
        index, grids = pool.draw(args.batch)
        with torch.no_grad():
            order = pixel_error(grids).argsort(descending=True)
        index = [index[i] for i in order.tolist()]
        grids = grids[order]
        grids = torch.cat([blank[None], grids[1:]])
        if it > 4:
            grids = damage(grids, rng)

        for _ in range(rng.randint(4, 7)):
            grids = rule(grids)
        loss = pixel_error(grids).mean()

        optimizer.zero_grad()
        loss.backward()
        for p in rule.parameters():
            p.grad /= p.grad.norm() + 1e-8
        optimizer.step()

        pool.commit(index, grids)
        trace.append(loss.item())

    total = sum(p.abs().sum().item() for p in rule.parameters())
    print(f"RESULT {sum(trace):.6g} {total:.6g}")


if __name__ == "__main__":
    main()
