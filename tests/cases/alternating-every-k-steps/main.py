import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(58)
net, weigher = nn.Linear(6, 2), nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
opt = torch.optim.SGD(net.parameters(), lr=0.1)
wopt = torch.optim.Adam(weigher.parameters(), lr=1e-2)
x = torch.randn(200, 6)
y = (x[:, 0] > 0).long()
noisy = torch.where(torch.rand(200) < 0.2, 1 - y, y)
for step in range(40):
    idx = torch.randint(200, (20,))
    each = F.cross_entropy(net(x[idx]), noisy[idx], reduction="none")
    weight = weigher(each.detach().unsqueeze(1)).squeeze(1)
    loss = (weight * each).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 5 == 4:
        each = F.cross_entropy(net(x[:40]), y[:40], reduction="none").detach()
        aim = (weigher(each.unsqueeze(1)).squeeze(1) - (each < each.median()).float()).pow(2).mean()
        wopt.zero_grad()
        aim.backward()
        wopt.step()
print(f"RESULT {loss.item():.6g} {aim.item():.6g}")
