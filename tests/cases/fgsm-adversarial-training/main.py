import torch
from torch import nn
import torch.nn.functional as F


def fgsm(model, x, y, eps):
    x = x.clone().requires_grad_(True)
    F.cross_entropy(model(x), y).backward()
    return (x + eps * x.grad.sign()).detach()


def pgd(model, x, y, eps, steps=3):
    adv = x.clone()
    for _ in range(steps):
        adv.requires_grad_(True)
        (grad,) = torch.autograd.grad(F.cross_entropy(model(adv), y), adv)
        adv = x + (adv.detach() + 0.5 * eps * grad.sign() - x).clamp(-eps, eps)
    return adv


torch.manual_seed(42)
x = torch.randn(120, 7)
y = (x[:, :2].sum(1) > 0).long()
model = nn.Sequential(nn.Linear(7, 20), nn.ReLU(), nn.Linear(20, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    attack = fgsm if epoch < 2 else pgd
    for xb, yb in zip(x.split(30), y.split(30)):
        adv = attack(model, xb, yb, 0.1)
        opt.zero_grad()
        loss = 0.5 * (F.cross_entropy(model(xb), yb) + F.cross_entropy(model(adv), yb))
        loss.backward()
        opt.step()
print(f"RESULT {loss.item():.6g} {model[0].weight.abs().sum().item():.6g}")
