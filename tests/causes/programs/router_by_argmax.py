# unreached-parameter: router moe.router self.router
import torch
from torch import nn
class MoE(nn.Module):
    def __init__(self, d=4, n=3):
        super().__init__()
        self.router = nn.Linear(d, n)
        self.experts = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
    def forward(self, x):
        choice = self.router(x).argmax(-1)  #! built failed
        out = torch.zeros_like(x)
        for k, e in enumerate(self.experts):
            pick = choice == k
            out[pick] = e(x[pick])
        return out
moe = MoE()
opt = torch.optim.Adam(moe.parameters(), 1e-2)
for _ in range(20):
    x = torch.randn(32, 4)
    loss = (moe(x) - x.flip(-1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
