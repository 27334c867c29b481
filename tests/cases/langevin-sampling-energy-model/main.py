import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def langevin(energy, x, steps=8, size=0.05):
    x = x.clone().requires_grad_()
    for _ in range(steps):
        g = torch.autograd.grad(energy(x).sum(), x)[0]
        x.data -= size * g + 0.01 * torch.randn_like(x)
    return x.detach()


torch.manual_seed(16)
energy = Energy()
optimizer = torch.optim.Adam(energy.parameters(), lr=2e-3, betas=(0.0, 0.999))
buffer = torch.randn(200, 2)
trace = []
for step in range(120):
    angle = torch.rand(32) * 6.2832
    real = torch.stack([angle.cos(), angle.sin()], 1)
    idx = torch.randint(200, (32,))
    fake = langevin(energy, buffer[idx])
    buffer[idx] = fake
    e_real, e_fake = energy(real), energy(fake)
    loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real.square() + e_fake.square()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    trace.append((e_real.mean() - e_fake.mean()).item())
print(f"RESULT {sum(trace[-10:]) / 10:.6g}")
