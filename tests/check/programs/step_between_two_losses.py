import torch
from torch import nn

enc, dec = nn.Linear(4, 4), nn.Linear(4, 4)
opt_e = torch.optim.SGD(enc.parameters(), lr=0.1)
opt_d = torch.optim.SGD(dec.parameters(), lr=0.1)
for _ in range(5):
    z = torch.tanh(enc(torch.randn(2, 4)))
    out = torch.tanh(dec(z))
    a, b = out.mean(), (out**2).mean()
    opt_d.zero_grad()
    a.backward(retain_graph=True)
    opt_d.step()
    opt_e.zero_grad()
    b.backward()  # SP201
    opt_e.step()
