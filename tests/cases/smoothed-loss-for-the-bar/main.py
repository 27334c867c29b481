import torch
from torch import nn

from learner import Learner


def stream(n):
    for _ in range(n):
        x = torch.randn(20, 6)
        yield x, (x[:, :1] * x[:, 1:2]).tanh()


if __name__ == "__main__":
    torch.manual_seed(58)
    net = nn.Sequential(nn.Linear(6, 40), nn.SiLU(), nn.Linear(40, 40), nn.SiLU(), nn.Linear(40, 1))
    learner = Learner(net, lr=1e-2)
    learner.fit(stream(80))
    print(f"RESULT {float(learner.progress.smooth):.6g} {net[0].weight.detach().norm():.6g}")
