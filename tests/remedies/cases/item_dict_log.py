# kind: item
# cause: graph-leak
# carrier: history["loss"]
import torch
from torch import nn

torch.manual_seed(22)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
history = {"loss": [], "lr": []}
for i in range(40):
    loss = net(torch.randn(8, 3)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history["loss"].append(loss)  #- @failed
    history["loss"].append(loss.item())  #+
    history["lr"].append(0.1)
print("RESULT", float(sum(history["loss"])), net.weight.sum().item())
