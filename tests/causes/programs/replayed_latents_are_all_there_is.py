# stored-history: memory[0] memory[1] memory[2] memory[3]; recompute
import torch, torch.nn as nn
torch.manual_seed(0)
phi, q = nn.Linear(3, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*phi.parameters(), *q.parameters()], .1)
memory = []
for it in range(6):
    memory.append(phi(torch.randn(3)).tanh())  #! built
    if it > 2:
        loss = q(torch.stack(memory)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  #! freed failed
        opt.step()
