import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def residual(model, x, t, c=1.0):
    u = model(x, t)
    u_x, u_t = derivative(u, x), derivative(u, t)
    u_xx, u_tt = derivative(u_x, x), derivative(u_t, t)
    return u_tt - c ** 2 * u_xx


def main():
    torch.manual_seed(2)
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for it in range(50):
        x = torch.rand(64, 1, requires_grad=True)
        t = torch.rand(64, 1, requires_grad=True)
        x0 = torch.rand(32, 1)
        initial = (model(x0, torch.zeros_like(x0)) - torch.sin(torch.pi * x0)).square().mean()
        loss = initial + residual(model, x, t).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g}")


main()
