import torch
from torch import nn

from adjoint import odeint


class Field(nn.Module):
    def __init__(self, dim=2, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, width), nn.Tanh(), nn.Linear(width, dim))

    def forward(self, y):
        return self.net(y)


def main():
    torch.manual_seed(28)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    turn = torch.tensor([[0.0, 1.0], [-1.0, 0.0]])
    for step in range(40):
        y0 = torch.randn(32, 2)
        goal = y0 @ torch.linalg.matrix_exp(turn * 0.5).T
        optimizer.zero_grad()
        loss = (odeint(field, y0, 0.5, 8) - goal).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6f}")


main()
