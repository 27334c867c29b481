import itertools

import torch
from torch.utils.data import DataLoader, TensorDataset

from flows import Flow


def spirals(n, gen):
    r = torch.rand(n, generator=gen) * 3 + 0.5
    side = (torch.rand(n, generator=gen) > 0.5).float() * 3.1416
    xy = torch.stack([r * torch.cos(r * 1.5 + side), r * torch.sin(r * 1.5 + side)], 1)
    xy = xy + 0.05 * torch.randn(n, 2, generator=gen)
    return torch.cat([xy, xy.flip(1) * 0.5 + 0.2 * torch.randn(n, 2, generator=gen)], 1)


def evaluate(flow, x):
    flow.eval()
    with torch.no_grad():
        nll = -flow.log_prob(x).mean().item()
    flow.train()
    return nll


if __name__ == "__main__":
    torch.manual_seed(2)
    gen = torch.Generator().manual_seed(2)
    loader = DataLoader(TensorDataset(spirals(512, gen)), batch_size=64, shuffle=True)
    held_out = spirals(256, gen)

    flow = Flow(features=4)
    optim = torch.optim.Adam(flow.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=40)

    stream = itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), 40)
    for i, (x,) in enumerate(stream):
        nll = -flow.log_prob(x).mean()
        optim.zero_grad()
        nll.backward()
        torch.nn.utils.clip_grad_value_(flow.parameters(), 5.0)
        optim.step()
        sched.step()
        if i % 10 == 0:
            print(f"{i:3d} train {nll.item():.4f} test {evaluate(flow, held_out):.4f}")
    print("RESULT", f"{nll.item():.6f}", f"{evaluate(flow, held_out):.6f}")
