# missing-zero-grad;add-zero-grad
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
trainer = torch.optim.SGD(net.parameters(), lr=0.1)
for turn in range(6):
    trainer.zero_grad()
    x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
    noise = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        F.cross_entropy(net(x + noise), y).backward()  #! built
        with torch.no_grad():
            noise += 0.1 * noise.grad.sign()
        noise.grad = None
    noise = noise.detach()
    F.cross_entropy(net(x + noise.detach()), y).backward()  #! failed
    trainer.step()
