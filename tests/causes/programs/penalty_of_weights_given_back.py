# missing-create-graph: fit; create-graph
import torch


def penalised(w, x):
    fit = torch.tanh(x @ w).pow(2).mean()
    (slope,) = torch.autograd.grad(fit, [w])  #! freed
    return fit + 0.1 * slope.pow(2).sum()


w = torch.randn(4, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for x in torch.randn(3, 8, 4):
    opt.zero_grad()
    penalised(w, x).backward()  #! failed
    opt.step()
