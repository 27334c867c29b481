import torch
from torch import nn

cell = nn.LSTMCell(4, 12)
readout = nn.Linear(12, 2)


def control(obs, _memory={}):
    """Remembers what it has seen between calls."""
    state = _memory.get("state")
    if state is None:
        state = (torch.zeros(len(obs), 12), torch.zeros(len(obs), 12))
    state = cell(obs, state)
    _memory["state"] = tuple(s.detach() for s in state)
    return readout(state[0])


def rollout(optimizer, steps):
    position = torch.zeros(16, 2)
    trace = []
    for t in range(steps):
        wind = 0.3 * torch.randn(16, 2)
        action = control(torch.cat([position, wind], dim=-1))
        position = (position + wind + 0.5 * torch.tanh(action)).clamp(-3, 3)
        cost = position.pow(2).mean() + 0.01 * action.pow(2).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        position = position.detach()
        trace.append(cost.item())
    return trace


if __name__ == "__main__":
    torch.manual_seed(97)
    optimizer = torch.optim.Adam([*cell.parameters(), *readout.parameters()], lr=5e-3)
    trace = rollout(optimizer, 40)
    print(f"RESULT {trace[0]:.5f} {trace[-1]:.5f}")
