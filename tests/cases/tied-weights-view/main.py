import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self, dim, code):
        super().__init__()
        self.enc = nn.Linear(dim, code)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.wt = self.enc.weight.t()

    def forward(self, x):
        return torch.tanh(self.enc(x)) @ self.wt.t() + self.bias


torch.manual_seed(40)
x = torch.randn(96, 2) @ torch.randn(2, 8)
net = Tied(8, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for epoch in range(5):
    for batch in x.split(24):
        opt.zero_grad()
        loss = (net(batch) - batch).pow(2).mean()
        loss.backward()
        opt.step()
print(f"RESULT {loss.item():.6g}")
