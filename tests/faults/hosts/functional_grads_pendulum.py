"""Fit a Hamiltonian with torch.func: per-sample derivatives inside the model, a plain optimizer outside."""
import math

import torch
from torch.func import functional_call, grad, vmap

torch.manual_seed(2)
DT = 0.1


def true_field(state):
    q, p = state.unbind(-1)
    return torch.stack([p, -torch.sin(q)], dim=-1)


energy = torch.nn.Sequential(torch.nn.Linear(2, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))


def hamiltonian(params, state):
    return functional_call(energy, params, (state.unsqueeze(0),)).squeeze()


def field(params, states):
    dh = vmap(grad(hamiltonian, argnums=1), in_dims=(None, 0))(params, states)
    return torch.stack([dh[:, 1], -dh[:, 0]], dim=-1)


optimiser = torch.optim.Adam(energy.parameters(), lr=0.01)
history = []
for iteration in range(30):
    states = torch.rand(16, 2) * 2 * math.pi - math.pi
    params = dict(energy.named_parameters())
    mismatch = (field(params, states) - true_field(states)).pow(2).mean()
    optimiser.zero_grad()
    mismatch.backward()
    optimiser.step()
    history.append(mismatch.item())

state = torch.tensor([[1.0, 0.0]])
frozen = {k: v.detach() for k, v in energy.named_parameters()}
drift = []
for _ in range(20):
    state = state + DT * field(frozen, state)
    drift.append(hamiltonian(frozen, state[0]).item())
print("RESULT", "%.6f" % (sum(history[-5:]) / 5), "%.6f" % (max(drift) - min(drift)))
