import torch
from torch import nn

torch.manual_seed(55)
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 4))
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 8)
x = torch.randn(128, 8)
y = x[:, :4].argmax(1)
for epoch in range(4):
    for i in range(0, 128, 32):
        loss = nn.functional.cross_entropy(model(x[i:i + 32]), y[i:i + 32])
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
print(f"RESULT {loss.item():.6g} {scaler.get_scale():.6g}")
