import torch
from torch import nn


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def rollout(self, x, steps, dt=0.1):
        path = [x]
        for _ in range(steps):
            k1 = self.f(x)
            x = x + dt * self.f(x + 0.5 * dt * k1)
            path.append(x)
        return torch.stack(path, 1)


torch.manual_seed(59)
angle = torch.linspace(0, 6, 10)
start = torch.stack([angle.cos(), angle.sin()], 1)
t = torch.arange(13) * 0.1
truth = torch.stack([torch.cos(angle[:, None] + t), torch.sin(angle[:, None] + t)], -1)
field = Field()
opt = torch.optim.Adam(field.parameters(), lr=1e-2)
losses = []
for it in range(25):
    opt.zero_grad()
    loss = (field.rollout(start, 12) - truth).pow(2).mean()
    loss.backward()
    opt.step()
    losses.append(loss.detach())
print(f"RESULT {torch.stack(losses).min().item():.6g} {losses[-1].item():.6g}")
