import torch
from torch import nn

torch.manual_seed(153)
world = nn.GRUCell(2, 8).requires_grad_(False)
actor = nn.Sequential(nn.Linear(8, 16), nn.ELU(), nn.Linear(16, 2), nn.Tanh())
value = nn.Sequential(nn.Linear(8, 16), nn.ELU(), nn.Linear(16, 1))
reward_head = nn.Linear(8, 1).requires_grad_(False)
actor_opt = torch.optim.Adam(actor.parameters(), lr=2e-3)
value_opt = torch.optim.Adam(value.parameters(), lr=4e-3)


def imagine(start, horizon):
    states, s = [], start
    for _ in range(horizon):
        s = world(actor(s), s)
        states.append(s)
    return torch.stack(states)


def returns(states, gamma=0.9):
    with torch.no_grad():
        tail = value(states[-1]).squeeze(-1)
    out = []
    for r in reversed(reward_head(states).squeeze(-1)):
        tail = r + gamma * tail
        out.insert(0, tail)
    return torch.stack(out)


def update(start):
    imagined = imagine(start, 5)
    ret = returns(imagined)
    actor_opt.zero_grad()
    (-ret.mean()).backward()
    actor_opt.step()
    if True:
        target = ret.detach()
        v_loss = (value(imagined).squeeze(-1) - target).pow(2).mean()
        value_opt.zero_grad()
        v_loss.backward()
        value_opt.step()
    return ret.mean().item(), v_loss.item()


for _ in range(15):
    out = update(torch.randn(10, 8))
print("RESULT", *(f"{v:.6g}" for v in out))
