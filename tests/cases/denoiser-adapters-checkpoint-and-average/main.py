import copy

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
import torch.nn.functional as F


class Adapter(nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Unet(nn.Module):
    def __init__(self, dim=4, width=24):
        super().__init__()
        self.time = nn.Embedding(20, width).requires_grad_(False)
        self.inp = Adapter(nn.Linear(dim, width))
        self.mid = nn.ModuleList(Adapter(nn.Linear(width, width)) for _ in range(2))
        self.out = Adapter(nn.Linear(width, dim))

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        for layer in self.mid:
            h = h + checkpoint(lambda z, layer=layer: F.silu(layer(z)), h, use_reentrant=False)
        return self.out(h)


torch.manual_seed(73)
model = Unet()
average = copy.deepcopy(model).eval().requires_grad_(False)
params = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(params, lr=2e-3)
alpha = torch.linspace(0.99, 0.1, 20)
best, best_state, outputs = float("inf"), None, []
for step in range(40):
    x0 = torch.randn(24, 4) * 0.3 + 1
    t, noise = torch.randint(20, (24,)), torch.randn(24, 4)
    xt = alpha[t, None].sqrt() * x0 + (1 - alpha[t, None]).sqrt() * noise
    loss = F.mse_loss(model(xt, t), noise)
    loss.backward()
    grad_norm = nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 0.05)
    if step % 10 == 9:
        with torch.inference_mode():
            outputs.append(average(xt, t))
        if (score := F.mse_loss(outputs[-1], noise).item()) < best:
            best, best_state = score, copy.deepcopy(average.state_dict())
print(f"RESULT {loss.item():.6g} {best:.6g} {grad_norm:.6g}")
