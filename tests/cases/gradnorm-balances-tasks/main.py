import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, dim=8, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, width), nn.ReLU())
        self.last = nn.Linear(width, width)
        self.heads = nn.ModuleList(nn.Linear(width, 1) for _ in range(3))
        self.task_weights = nn.Parameter(torch.ones(3))

    def forward(self, x):
        h = torch.relu(self.last(self.trunk(x)))
        return [head(h).squeeze(1) for head in self.heads]


torch.manual_seed(12)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scales = torch.tensor([1.0, 10.0, 0.1])
proj = torch.randn(8, 3)
initial = None
for step in range(40):
    x = torch.randn(32, 8)
    y = torch.sin(x @ proj) * scales
    losses = torch.stack([F.mse_loss(p, y[:, i]) for i, p in enumerate(net(x))])
    if initial is None:
        initial = losses.detach()
    total = (net.task_weights * losses).sum()

    optimizer.zero_grad()
    total.backward(retain_graph=True)
    net.task_weights.grad = torch.zeros_like(net.task_weights)

    norms = []
    for i in range(3):
        g = torch.autograd.grad(net.task_weights[i] * losses[i], net.last.weight, retain_graph=True, create_graph=True)[0]
        norms.append(g.norm())
    norms = torch.stack(norms)
    rate = (losses / initial).detach()
    goal = (norms.mean() * (rate / rate.mean()) ** 0.5).detach()
    net.task_weights.grad = torch.autograd.grad((norms - goal).abs().sum(), net.task_weights)[0]
    optimizer.step()
    with torch.no_grad():
        net.task_weights.mul_(3 / net.task_weights.sum())
print("RESULT", *(f"{v:.6g}" for v in [*losses.tolist(), *net.task_weights.tolist()]))
