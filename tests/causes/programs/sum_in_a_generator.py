# accumulated-loss: total; other item
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), .1)
def sums(n):
    so_far = 0.0
    for _ in range(n):
        so_far = so_far + net(torch.randn(8, 4)).pow(2).mean()  #! built
        yield so_far
for total in sums(4):
    opt.zero_grad()
    total.backward()  #! freed failed
    opt.step()
