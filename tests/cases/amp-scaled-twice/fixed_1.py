import torch
from torch import nn

torch.manual_seed(173)
model = nn.Sequential(nn.Linear(5, 20), nn.GELU(), nn.Linear(20, 1))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
retried = 0


def batches(n):
    for i in range(n):
        x = torch.randn(16, 5) * (30.0 if i == 11 else 1.0)
        yield x, x[:, :1] * 2


def train():
    global retried
    for x, y in batches(20):
        loss = nn.functional.mse_loss(model(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        if norm > 64 * 100:
            retried += 1
            opt.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    return loss.item()


print(f"RESULT {train():.6g} {retried}")
