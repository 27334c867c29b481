# stored-history: bank[0]; detach
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(3)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
opt = torch.optim.SGD(net.parameters(), .1)
bank = []
for it in range(6):
    x = torch.randn(5, 6)
    q, k = net(x), net(x + .1 * torch.randn_like(x))  #! built
    neg = torch.cat(bank) if bank else torch.zeros(1, 4)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ neg.T], 1)
    loss = F.cross_entropy(logits, torch.zeros(5, dtype=torch.long))
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
    bank = (bank + [k])[-3:]
print("RESULT", loss.item())
