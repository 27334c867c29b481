# lost-history: loss; keep-history
import torch, torch.nn as nn
torch.manual_seed(0)
def trains(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)  #! built
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
gen, dis = torch.optim.SGD(G.parameters(), .1), torch.optim.SGD(D.parameters(), .1)
for it in range(3):
    fake = G(torch.randn(6, 2))
    loss = D(fake.detach()).exp().mean() + (-D(torch.randn(6, 3))).exp().mean()
    dis.zero_grad()
    loss.backward()  #! failed
    dis.step()
    trains(D, False)
    gain = (-D(fake)).exp().mean()
    gen.zero_grad()
    gain.backward()
    gen.step()
