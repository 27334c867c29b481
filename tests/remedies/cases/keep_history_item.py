# kind: keep-history
# cause: lost-history
# carrier: loss
import torch
from torch import nn

torch.manual_seed(19)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(10, 3), torch.randn(10, 1)
for _ in range(4):
    losses = [(net(a) - b).square().mean() for a, b in zip(x.split(5), y.split(5))]
    loss = torch.tensor([l.item() for l in losses], requires_grad=True).mean()  #- @built
    loss = torch.stack([l for l in losses]).mean()  #+
    opt.zero_grad()
    loss.backward()  #@failed
    opt.step()
print("RESULT", loss.item(), net.weight.sum().item())
