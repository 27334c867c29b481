import torch
from torch import nn

torch.manual_seed(142)
net = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 3))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)


def jacobian(y, x, create_graph):
    rows = [torch.autograd.grad(y[:, i].sum(), x, retain_graph=True, create_graph=create_graph)[0] for i in range(y.size(1))]
    return torch.stack(rows, 1)


for step in range(20):
    x = torch.randn(16, 3, requires_grad=True)
    y = net(x)
    J = jacobian(y, x, create_graph=True)
    loss = (y - x.detach().roll(1, 1)).pow(2).mean() + 0.01 * J.pow(2).sum((1, 2)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"RESULT {loss.item():.6g}")
