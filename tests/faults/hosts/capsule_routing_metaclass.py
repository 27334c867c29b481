# Capsules with routing by agreement on rotated bars; experiment classes register themselves (metaclass), the best is kept.
import math
import torch
from torch import nn


class Registry(type):
    known = {}

    def __new__(mcs, name, bases, body):
        cls = super().__new__(mcs, name, bases, body)
        if bases:
            mcs.known[name] = cls
        return cls


def bars(n, g):
    """Images 8x8 of a bar in one of three orientations, and which one."""
    y = torch.randint(0, 3, (n,), generator=g)
    angle = y * math.pi / 3 + 0.2 * torch.randn(n, generator=g)
    grid = torch.stack(torch.meshgrid(*[torch.linspace(-1, 1, 8)] * 2, indexing="ij"), -1)
    normal = torch.stack([angle.cos(), angle.sin()], -1)
    d = torch.einsum("hwk,nk->nhw", grid, normal).abs()
    return torch.exp(-8 * d) + 0.1 * torch.rand(n, 8, 8, generator=g), y


def squash(s):
    n2 = s.square().sum(-1, keepdim=True)
    return n2 / (1 + n2) * s / (n2 + 1e-8).sqrt()


class CapsNet(nn.Module):
    def __init__(self, routing, primary=8, dim_in=4, dim_out=6):
        super().__init__()
        self.routing = routing
        self.conv = nn.Conv2d(1, primary * dim_in, 4, stride=2)
        self.dim_in = dim_in
        self.transform = nn.Parameter(0.1 * torch.randn(3, primary * 9, dim_in, dim_out))
        self.decoder = nn.Sequential(nn.Linear(3 * dim_out, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x):
        u = self.conv(x.unsqueeze(1)).unflatten(1, (-1, self.dim_in)).movedim(2, -1).flatten(1, 3)
        votes = torch.einsum("nid,cide->ncie", squash(u), self.transform)
        logits = torch.zeros(votes.shape[:-1])
        for r in range(self.routing):
            c = logits.softmax(1).unsqueeze(-1)
            v = squash((c * votes).sum(2))
            if r < self.routing - 1:
                logits = logits + (votes.detach() * v.detach().unsqueeze(2)).sum(-1)
        return v

    def reconstruct(self, v, y):
        mask = nn.functional.one_hot(y, 3).unsqueeze(-1)
        return self.decoder((v * mask).flatten(1)).view(-1, 8, 8)


class Experiment(metaclass=Registry):
    routing, weight, steps, lr = 1, 0.0, 30, 1e-2

    def __init__(self):
        torch.manual_seed(17)
        self.g = torch.Generator().manual_seed(17)
        self.net = CapsNet(self.routing)
        self.opt = torch.optim.Adam(self.net.parameters() if self.weight else
                                    [p for n, p in self.net.named_parameters() if "decoder" not in n], lr=self.lr)

    def margin(self, v, y):
        length = v.norm(dim=-1)
        t = nn.functional.one_hot(y, 3)
        return (t * (0.9 - length).relu() ** 2 + 0.5 * (1 - t) * (length - 0.1).relu() ** 2).sum(1).mean()

    def __call__(self):
        for _ in range(self.steps):
            x, y = bars(32, self.g)
            v = self.net(x)
            loss = self.margin(v, y)
            if self.weight:
                loss = loss + self.weight * (self.net.reconstruct(v, y) - x).square().mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        with torch.no_grad():
            x, y = bars(200, self.g)
            accuracy = (self.net(x).norm(dim=-1).argmax(1) == y).float().mean().item()
        return accuracy, loss.item()


class Plain(Experiment):
    pass


class Routed(Experiment):
    routing = 3


class Reconstructing(Experiment):
    routing, weight = 2, 0.4


results = {name: cls()() for name, cls in Registry.known.items()}
for name, (accuracy, loss) in results.items():
    print(f"{name:>16}  accuracy {accuracy:.3f}  loss {loss:.4f}")
print("best:", max(results, key=lambda k: results[k][0]))
print("RESULT", *(f"{v:.6g}" for pair in results.values() for v in pair))
