# stored-history: states[...] states[11] states[10] states[9] states[8] states[7]; detach
import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(3, 8), nn.Linear(8, 1)
adam = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
inputs, goals = torch.randn(12, 1, 3), torch.randn(12, 1)


def collect():
    state, states = torch.zeros(1, 8), []
    for t in range(12):
        states.append(state)
        state = cell(inputs[t], state)  #! built
    return states


for rollout in range(2):
    states = collect()
    for batch in torch.randperm(12).split(4):
        before = torch.cat([states[t] for t in batch])
        after = cell(inputs[batch, 0], before)
        loss = (head(after) - goals[batch]).pow(2).mean()
        adam.zero_grad()
        loss.backward()  #! failed
        adam.step()
print("RESULT", head.weight.norm().item())
