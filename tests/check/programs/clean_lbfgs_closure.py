import torch

x = torch.randn(40, 3)
y = x @ torch.tensor([1.0, -2.0, 0.5])
w = torch.zeros(3, requires_grad=True)
opt = torch.optim.LBFGS([w])


def closure():
    opt.zero_grad()
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    return loss


for _ in range(5):
    opt.step(closure)
