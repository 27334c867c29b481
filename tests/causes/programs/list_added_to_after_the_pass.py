# stored-history: seen[0]; detach
import torch
from torch import nn
torch.manual_seed(0)
enc = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3))
opt = torch.optim.SGD(enc.parameters(), .1)
seen = []
for x in torch.randn(5, 8, 4):
    z = enc(x)
    away = torch.cdist(z, torch.stack(seen)).mean() if seen else z.new_zeros(())
    loss = z.pow(2).mean() - .1 * away
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
    seen.append(z.tanh().mean(0))  #! built
print("RESULT", loss.item())
