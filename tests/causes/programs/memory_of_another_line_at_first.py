# carried-state: memory; detach
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), .1)
memory = None
for it in range(4):
    h = net(torch.cat([torch.randn(5, 3), torch.zeros(5, 3) if memory is None else memory], 1)).tanh()
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()  #! freed failed
    opt.step()
    if memory is None:
        memory = h * 0.5  #! built
    else:
        memory = torch.cat([memory, h])[5:] * 0.5
