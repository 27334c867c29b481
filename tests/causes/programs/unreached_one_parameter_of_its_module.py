# unreached-parameter: weighting.balance; keep-history
import torch
from torch import nn

torch.manual_seed(0)


class Weighting(nn.Module):
    def __init__(self):
        super().__init__()
        self.balance = nn.Parameter(torch.zeros(2))

    def forward(self, losses):
        return sum(loss * (1 + b) for loss, b in zip(losses, self.balance.tolist()))  #! failed


net, weighting = nn.Linear(4, 2), Weighting()
opt = torch.optim.SGD([*net.parameters(), *weighting.parameters()], lr=0.1)
for step in range(6):
    out = net(torch.randn(8, 4))
    loss = weighting([out[:, 0].pow(2).mean(), (out[:, 1] - 1).pow(2).mean()])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("RESULT", net.weight.norm().item())
