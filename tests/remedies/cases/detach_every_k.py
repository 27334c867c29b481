# kind: detach
# cause: carried-state
# carrier: h
import torch
from torch import nn

torch.manual_seed(4)
K = 3
cell = nn.GRUCell(2, 6)
head = nn.Linear(6, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)


def run(length):
    h, losses = torch.zeros(1, 6), []
    for t in range(1, length + 1):
        x = torch.randn(1, 2)
        h = cell(x, h)  #@built
        losses.append((head(h) - x.sum()).square().mean())
        if t % K == 0:
            optimizer.zero_grad()
            torch.stack(losses).sum().backward()  #@failed @freed
            optimizer.step()
            h = h.detach()  #+
            losses.clear()
    return h


print("RESULT", run(12).sum().item(), head.weight.sum().item())
