# clean
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), .1)
def epoch():
    seen = []
    for it in range(6):
        loss = net(torch.randn(8, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.append(loss)
    return torch.stack([one.detach() for one in seen]).mean().item()
for e in range(4):
    last = epoch()
print("RESULT", last)
