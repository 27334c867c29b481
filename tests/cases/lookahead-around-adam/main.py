import torch
from torch import nn

from lookahead import Lookahead


def batches(n):
    for _ in range(n):
        x = torch.randn(16, 7)
        yield x, (x[:, :2].prod(-1) > 0).float()


torch.manual_seed(91)
model = nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=5e-3), k=5, alpha=0.5)
warmup = torch.optim.lr_scheduler.LambdaLR(optimizer.fast, lambda s: min(1.0, (s + 1) / 10))
accumulate, log = 3, []
for i, (x, y) in enumerate(batches(120), start=1):
    loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y)
    (loss / accumulate).backward()
    log.append(loss.detach())
    if i % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        optimizer.zero_grad()
        warmup.step()
print(f"RESULT {torch.stack(log[-30:]).mean().item():.5f}")
