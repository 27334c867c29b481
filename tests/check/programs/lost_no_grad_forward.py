import torch
from torch import nn


class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @torch.no_grad()
    def forward(self, x):
        return self.inner(x)


net = Wrapper(nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # SP301
    opt.step()
