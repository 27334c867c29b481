import torch
from torch import nn
import torch.nn.functional as F


class Decoder(nn.Module):
    def __init__(self, code=4, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + code, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, xy, code):
        return self.net(torch.cat([xy, code.expand(len(xy), -1)], -1)).squeeze(-1)


def circle(radius, n=32):
    xy = torch.rand(n, 2) * 2 - 1
    return xy, xy.norm(dim=1) - radius


def infer_code(decoder, radius, steps=15):
    code = torch.zeros(1, 4, requires_grad=True)
    opt = torch.optim.Adam([code], lr=5e-2)
    for _ in range(steps):
        xy, sdf = circle(radius)
        loss = F.l1_loss(decoder(xy, code), sdf) + 1e-3 * code.square().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return code.detach(), loss.item()


torch.manual_seed(1)
radii = torch.linspace(0.2, 0.9, 8)
codes = nn.Embedding(8, 4)
nn.init.normal_(codes.weight, std=0.05)
decoder = Decoder()
optimizer = torch.optim.Adam([{"params": decoder.parameters(), "lr": 5e-3}, {"params": codes.parameters(), "lr": 1e-2}])
for step in range(240):
    i = torch.randint(8, (1,))
    xy, sdf = circle(radii[i])
    loss = F.l1_loss(decoder(xy, codes(i)), sdf)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
found = [infer_code(decoder, r) for r in (0.3, 0.5, 0.7, 0.8, 0.85)]
print("RESULT", f"{loss.item():.6g}", *(f"{l:.6g}" for _, l in found))
