import torch
from torch import nn


class STE(torch.autograd.Function):
    """Sign with a straight-through gradient inside [-1, 1]."""

    last = None

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        STE.last = ctx
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)

    @classmethod
    def clip_rate(cls):
        (x,) = cls.last.saved_tensors
        return (x.abs() > 1).float().mean().item()


class Binary(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(6, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.out(STE.apply(self.inp(x))).squeeze(1)


def main():
    torch.manual_seed(30)
    net, clipped = Binary(), []
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    x = torch.randn(64, 6)
    y = x[:, 0] * x[:, 1]
    for _ in range(15):
        loss = (net(x) - y).pow(2).mean()
        opt.zero_grad()
        clipped.append(STE.clip_rate())
        loss.backward()
        opt.step()
    print("RESULT %.6g %.6g" % (loss.item(), clipped[-1]))


main()
