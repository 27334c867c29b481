import copy

import torch
from torch import nn
import torch.nn.functional as F


class Moco(nn.Module):
    def __init__(self, encoder, size=64, dim=6, m=0.95):
        super().__init__()
        self.q, self.k = encoder, copy.deepcopy(encoder).requires_grad_(False)
        self.m, self.ptr = m, 0
        self.register_buffer("bank", F.normalize(torch.randn(size, dim), dim=1))

    @torch.no_grad()
    def follow(self, keys):
        for a, b in zip(self.k.parameters(), self.q.parameters()):
            a.mul_(self.m).add_(b, alpha=1 - self.m)
        self.bank[self.ptr:self.ptr + len(keys)] = keys
        self.ptr = (self.ptr + len(keys)) % len(self.bank)

    def forward(self, x1, x2):
        q = F.normalize(self.q(x1), dim=1)
        with torch.no_grad():
            k = F.normalize(self.k(x2), dim=1)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.bank.clone().t()], 1) / 0.2
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long)), k


torch.manual_seed(57)
model = Moco(nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 6)))
opt = torch.optim.SGD(model.q.parameters(), lr=0.05)
data = torch.randn(128, 10)
for epoch in range(3):
    for x in data.split(16):
        loss, keys = model(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        model.follow(keys)
print(f"RESULT {loss.item():.6g} {model.bank.mean().item():.6g}")
