# graph-leak: val_losses; item
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 8))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
val = torch.randn(64, 8)


def evaluate(net, curve):
    net.eval()
    curve.append((net(val) - val).pow(2).mean())  #! failed
    net.train()


val_losses = []
for epoch in range(20):
    for x in torch.randn(3, 16, 8):
        loss = (net(x) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    evaluate(net, val_losses)
print("RESULT", float(min(v.item() for v in val_losses)))
