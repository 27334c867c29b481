import torch
from torch import nn


class Denoiser(nn.Module):
    def __init__(self, dim=8, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=-1))


def noised(x, t):
    noise = torch.randn_like(x)
    return (1 - t).sqrt() * x + t.sqrt() * noise, noise


def train(model, data, steps, use_amp=True):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=steps)
    scaler = torch.amp.GradScaler("cpu", enabled=use_amp, init_scale=256.0)
    running = 0.0
    for step in range(steps):
        x = data[torch.randint(0, len(data), (32,))]
        t = torch.rand(32, 1)
        noisy, noise = noised(x, t)
        loss = nn.functional.mse_loss(model(noisy, t), noise)
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.step()
        schedule.step()
        running = 0.95 * running + 0.05 * loss.item()
    return running


torch.manual_seed(23)
print(f"RESULT {train(Denoiser(), torch.randn(200, 8).sign(), 80):.5f}")
