import math

import torch
from torch import nn

torch.manual_seed(22)
SIDE = 8


def gabor(n):
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    angle = torch.rand(n, 1, 1) * math.pi
    wave = torch.cos(6 * (xx * angle.cos() + yy * angle.sin()))
    return wave.unsqueeze(1), angle.view(n)


net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 36, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
smooth = None
for it in range(40):
    x, angle = gabor(16)
    out = net(x)
    target = torch.stack([(2 * angle).cos(), (2 * angle).sin()], 1)
    loss = nn.functional.mse_loss(out, target)
    smooth = loss if smooth is None else 0.9 * smooth.detach() + 0.1 * loss
    optimizer.zero_grad()
    smooth.backward()
    optimizer.step()
    if it % 10 == 0:
        print(f"{it:3d} {float(smooth):.4f}")
print("RESULT %.6g %.6g" % (float(smooth), net[0].weight.abs().sum()))
