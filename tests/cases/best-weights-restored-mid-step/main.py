import copy

import torch
from torch import nn


def stream(n):
    g = torch.Generator().manual_seed(6)
    for i in range(n):
        x = torch.randn(16, 4, generator=g)
        scale = 8.0 if i in (37, 52) else 1.0
        yield scale * x, x[:, :1] - x[:, 1:2]


def train(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    best, restored = (float("inf"), None), 0
    for x, y in batches:
        loss = nn.functional.mse_loss(model(x), y)
        if best[1] is not None and loss.item() > 3 * best[0] + 1.0:
            model.load_state_dict(best[1])
            restored += 1
        elif loss.item() < best[0]:
            best = (loss.item(), copy.deepcopy(model.state_dict()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return best[0], restored


torch.manual_seed(152)
model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
best, restored = train(model, stream(60))
print(f"RESULT {best:.6g} {restored} {model[0].weight.abs().sum().item():.6g}")
