import torch
from torch import nn

from writer import MetricWriter


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.GELU(), nn.Linear(24, 2))

    def forward(self, state):
        return torch.tanh(self.net(state))


def rollout(controller, start, horizon):
    state, cost = start, 0.0
    for _ in range(horizon):
        u = controller(state)
        state = torch.cat([state[:, 2:] + 0.1 * u, 0.9 * state[:, :2] + 0.1 * state[:, 2:]], -1)
        cost = cost + state.pow(2).mean() + 0.01 * u.pow(2).mean()
    return cost / horizon, state


def main():
    torch.manual_seed(43)
    controller, writer = Controller(), MetricWriter()
    optimizer = torch.optim.Adam(controller.parameters(), lr=3e-3)
    for step in range(60):
        cost, end = rollout(controller, torch.randn(24, 4), 5)
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        writer.scalar("cost", cost, step)
    print(f"RESULT {writer.close()['cost']:.5f}")


main()
