import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(71)
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
weights = nn.Embedding(60, 1)
nn.init.zeros_(weights.weight)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt_w = torch.optim.SGD(weights.parameters(), lr=1.0)
x, y = torch.randn(60, 5), torch.randint(3, (60,))


def update(idx):
    logits = net(x[idx])
    each = F.cross_entropy(logits, y[idx], reduction="none")
    w = weights(idx).squeeze(1).sigmoid()
    loss = (w * each).mean()
    loss_w = -(w * each).mean() + (w - 0.5).pow(2).mean()
    opt.zero_grad()
    opt_w.zero_grad()
    loss_w.backward(inputs=list(weights.parameters()))
    loss.backward(inputs=list(net.parameters()))
    opt.step()
    opt_w.step()
    return loss.item()


for epoch in range(3):
    for idx in torch.randperm(60).split(15):
        last = update(idx)
print("RESULT", f"{last:.6g}", f"{weights.weight.sum().item():.6g}")
