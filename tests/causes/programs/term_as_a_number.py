# lost-history: tv
import torch
from torch import nn
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 6))
opt = torch.optim.Adam(net.parameters(), 1e-2)
def parts(x):
    y = net(x)
    fit = (y - x).pow(2).mean()
    tv = (y[:, 1:] - y[:, :-1]).abs().mean()
    return fit, float(tv)  #! built failed
for i in range(12):
    fit, tv = parts(torch.randn(8, 6))
    loss = fit + 0.3 * tv
    opt.zero_grad(); loss.backward(); opt.step()
