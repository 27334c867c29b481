# carried-state: queue[0] queue
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
queue = []
for _ in range(4):
    made = net(torch.randn(6, 4)).tanh()  #! built
    loss = made.pow(2).mean()
    if queue:
        loss = loss + (made - torch.cat(queue)).pow(2).mean()
    queue.append(made[:6])
    del queue[:-1]
    opt.zero_grad()
    loss.backward()  #! failed
    opt.step()
