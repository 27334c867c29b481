import torch
from torch import nn


class MoE(nn.Module):
    def __init__(self, dim=5, n=3):
        super().__init__()
        self.gate = nn.Linear(dim, n)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(dim, 12), nn.Tanh(), nn.Linear(12, 1)) for _ in range(n))

    def forward(self, x):
        gate = self.gate(x).softmax(-1)
        outs = [expert(x) for expert in self.experts]
        return (gate * torch.cat(outs, -1)).sum(-1)


if __name__ == "__main__":
    torch.manual_seed(108)
    moe = MoE()
    optimizer = torch.optim.SGD(moe.parameters(), lr=0.1, momentum=0.9)
    x = torch.randn(150, 5)
    y = torch.where(x[:, 0] > 0, x[:, 1], -x[:, 2])
    for epoch in range(6):
        for xb, yb in zip(x.split(30), y.split(30)):
            loss = nn.functional.mse_loss(moe(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"RESULT {loss.item():.6g} {moe.experts[2][0].weight.abs().sum().item():.6g}")
