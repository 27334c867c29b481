# kind: detach
# cause: carried-state
# carrier: prev
import torch
from torch import nn

torch.manual_seed(1)
rnn = nn.GRUCell(2, 5)
read = nn.Linear(5, 1)
optimizer = torch.optim.SGD([*rnn.parameters(), *read.parameters()], lr=0.05)
prev = torch.zeros(3, 5)
for step in range(5):
    new = rnn(torch.randn(3, 2), prev)  #@built
    loss = read(new).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  #@failed @freed
    optimizer.step()
    if step % 2 == 0:
        print(step, loss.item())
    prev = new
    prev = prev.detach()  #+
print("RESULT", loss.item(), read.weight.sum().item())
