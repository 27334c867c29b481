import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, x):
        a, b = x.flip(1).split(1, 1) if self.flip else x.split(1, 1)
        s, t = self.net(a).split(1, 1)
        s = torch.tanh(s)
        return torch.cat([a, b * s.exp() + t], 1), s.squeeze(1)


torch.manual_seed(62)
flow = nn.ModuleList(Coupling(i % 2 == 1) for i in range(4))
grad_norms, acts = [], {}
for i, layer in enumerate(flow):
    layer.register_forward_hook(lambda m, inp, out, i=i: acts.__setitem__(i, out[0].detach().std().item()))
flow[0].net[0].weight.register_hook(lambda g: grad_norms.append(g.norm().item()))
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(30):
    x = torch.randn(64, 2)
    z = torch.stack([x[:, 0], x[:, 1] * 0.3 + x[:, 0] ** 2], 1)
    logdet = 0
    for layer in flow:
        z, ld = layer(z)
        logdet = logdet + ld
    nll = (0.5 * z.pow(2).sum(1) + math.log(2 * math.pi) - logdet).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
print(f"RESULT {nll.item():.6g} {grad_norms[-1]:.6g} {acts[3]:.6g}")
