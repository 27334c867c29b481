import torch
from torch import nn

torch.manual_seed(4)
torch.set_default_dtype(torch.float64)

net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))
nu = 0.05 / torch.pi


def u(x, t):
    return net(torch.cat([x, t], 1))


def f(x, t):
    val = u(x, t)
    val_t = torch.autograd.grad(val, t, torch.ones_like(val), create_graph=True)[0]
    val_x = torch.autograd.grad(val, x, torch.ones_like(val), create_graph=True)[0]
    val_xx = torch.autograd.grad(val_x, x, torch.ones_like(val_x), create_graph=True)[0]
    return val_t + val * val_x - nu * val_xx


xu = torch.rand(40, 1) * 2 - 1
tu = torch.zeros_like(xu)
target = -torch.sin(torch.pi * xu)
xf = (torch.rand(120, 1) * 2 - 1).requires_grad_()
tf = torch.rand(120, 1).requires_grad_()
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=20, history_size=10, line_search_fn="strong_wolfe")
trace = []


def closure():
    optimizer.zero_grad()
    loss = (u(xu, tu) - target).square().mean() + f(xf, tf).square().mean()
    loss.backward(retain_graph=True)
    trace.append(loss.item())
    return loss


for _ in range(3):
    optimizer.step(closure)
print("RESULT", f"{trace[0]:.6g}", f"{trace[-1]:.4g}")
