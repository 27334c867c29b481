# clean
import torch
from torch import nn

torch.manual_seed(9)
images, labels = torch.randn(160, 12), torch.randint(0, 3, (160,))
net = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)


def attack(x, y):
    delta = torch.zeros_like(x).requires_grad_()
    for _ in range(3):
        nn.functional.cross_entropy(net(x + delta), y).backward()
        with torch.no_grad():
            delta += 0.05 * delta.grad.sign()
        delta.grad.zero_()
    return delta.detach()


for epoch in range(3):
    for x, y in zip(images.split(20), labels.split(20)):
        noise = attack(x, y)
        opt.zero_grad()  # what the attack left in the network
        nn.functional.cross_entropy(net(x + noise), y).backward()
        opt.step()
print("RESULT", net[0].weight.norm().item())
