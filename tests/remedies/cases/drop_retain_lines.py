# kind: drop-retain
# cause: needless-retain
# carrier:
import torch
from torch import nn

torch.manual_seed(25)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for i in range(8):
    loss = net(torch.randn(8, 3)).square().mean()
    opt.zero_grad()
    loss.backward(  #@failed
        retain_graph=True,  # was needed once  #-
        create_graph=False,
    )
    opt.step()
print("RESULT", loss.item(), net[0].weight.sum().item())
