# stored-history: protos["a"]; detach
import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(enc.parameters(), .1)
protos = {}
for task in ["a", "b", "c", "a", "b"]:
    z = enc(torch.randn(8, 4))
    c = z.mean(0)  #! built
    loss = z.var(0).mean()
    for other, p in protos.items():
        if other != task:
            loss = loss + torch.relu(1 - (c - p).norm())
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
    protos[task] = c
print("RESULT", loss.item())
