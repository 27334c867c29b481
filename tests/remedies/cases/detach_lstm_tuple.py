# kind: detach
# cause: carried-state
# carrier: state
import torch
from torch import nn

torch.manual_seed(0)
lstm, head = nn.LSTM(3, 8, batch_first=True), nn.Linear(8, 1)
params = [*lstm.parameters(), *head.parameters()]
opt = torch.optim.SGD(params, lr=0.1)
state = None
for i in range(6):
    x = torch.randn(2, 5, 3)
    out, state = lstm(x, state)  #@built
    loss = head(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()  #@failed @freed
    opt.step()
    state = tuple(part.detach() for part in state)  #+
print("RESULT", loss.item(), sum(p.sum().item() for p in params))
