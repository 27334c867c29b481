import torch
from torch import nn
from torch.distributions import Normal


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
        self.log_std = nn.Parameter(torch.tensor(-0.5))

    def act(self, state):
        dist = Normal(self.net(state), self.log_std.exp())
        force = dist.sample()
        return force, dist.log_prob(force).sum()


def spring(state, force, dt=0.1):
    pos, vel = state
    vel = vel + dt * (force.squeeze() - pos)
    return torch.stack([pos + dt * vel, vel]), -pos.square()


torch.manual_seed(41)
controller = Controller()
optimizer = torch.optim.Adam(controller.parameters(), lr=1e-2)
state, baseline = torch.tensor([1.0, 0.0]), 0.0
loss = torch.zeros(())
for step in range(1, 101):
    force, logp = controller.act(state)
    state, reward = spring(state, force)
    baseline = 0.9 * baseline + 0.1 * reward.item()
    loss = loss - logp * (reward.item() - baseline)
    if step % 10 == 0:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss = loss.detach()
print(f"RESULT {loss.item():.6g} {baseline:.6g}")
