# kind: reorder
# cause: misplaced-zero-grad
# carrier:
import torch
from torch import nn

torch.manual_seed(16)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    out = net(torch.randn(4, 3))
    loss = out.square().mean()
    optimizer.zero_grad()  #+
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.zero_grad()  #- @failed
    optimizer.step()
print("RESULT", loss.item(), net.weight.sum().item())
