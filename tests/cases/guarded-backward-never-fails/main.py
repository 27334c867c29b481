import torch
from torch import nn

torch.manual_seed(158)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
skipped = 0
for step in range(25):
    x = torch.randn(24, 6)
    try:
        loss = (model(x) - x.norm(dim=1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
    except RuntimeError as e:
        if "out of memory" not in str(e):
            raise
        skipped += 1
        continue
    if torch.isfinite(loss):
        opt.step()
print(f"RESULT {loss.item():.6g} {skipped}")
