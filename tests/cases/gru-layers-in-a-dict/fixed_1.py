import torch
from torch import nn
torch.manual_seed(0)
rnn, read = nn.GRU(3, 6, num_layers=4), nn.Linear(6, 1)
opt = torch.optim.SGD([*rnn.parameters(), *read.parameters()], lr=0.1)
layers = {k: torch.zeros(1, 2, 6)[0] for k in range(4)}
for turn in range(4):
    out, h = rnn(torch.randn(5, 2, 3), torch.stack(list(layers.values())))
    layers = dict(enumerate(h.detach().unbind(0)))
    loss = read(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("RESULT", loss.item())
