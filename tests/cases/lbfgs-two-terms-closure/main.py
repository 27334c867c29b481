import torch
from torch import nn

torch.manual_seed(51)
net = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 1))
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=8, history_size=5)
t = torch.linspace(0, 2, 30)[:, None].requires_grad_()
calls = []


def closure():
    optimizer.zero_grad()
    u = net(t)
    (du,) = torch.autograd.grad(u.sum(), t, create_graph=True)
    loss = (du + u).pow(2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).sum()
    loss.backward()
    calls.append(loss.item())
    return loss


for _ in range(6):
    final = optimizer.step(closure)
print(f"RESULT {final.item():.6g} {len(calls)}")
