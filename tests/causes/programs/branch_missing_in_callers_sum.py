# unreached-parameter: model.heads.depth; keep-history
import torch
from torch import nn

torch.manual_seed(0)


class MultiTask(nn.Module):
    def __init__(self, width, tasks):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, width), nn.ReLU())
        self.heads = nn.ModuleDict({t: nn.Linear(width, 1) for t in tasks})

    def forward(self, x):
        z = self.body(x)
        return {t: head(z) for t, head in self.heads.items()}


def compute_losses(out, batch):
    losses = {t: ((out[t] - batch[t]) ** 2).mean() for t in out}
    return losses


tasks = ["seg", "depth", "normal"]
model = MultiTask(16, tasks)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for it in range(8):
    x = torch.randn(16, 8)
    batch = {t: x[:, i : i + 1] for i, t in enumerate(tasks)}
    losses = compute_losses(model(x), batch)
    total = losses["seg"] + 0.5 * losses["normal"]  #! failed
    opt.zero_grad()
    total.backward()
    opt.step()
print("RESULT", float(total))
