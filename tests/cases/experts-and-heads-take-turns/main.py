import torch
from torch import nn
import torch.nn.functional as F


class SparseExperts(nn.Module):
    def __init__(self, dim, experts=6):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(nn.Linear(dim, dim) for _ in range(experts))

    def forward(self, x):
        prob, choice = self.gate(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (choice == i).nonzero().squeeze(1)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * prob[rows, None])
        return x + out


class TaskSwitching(nn.Module):
    def __init__(self, dim=10):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 16), nn.Tanh())
        self.moe = SparseExperts(16)
        self.heads = nn.ModuleDict({"sign": nn.Linear(16, 2), "size": nn.Linear(16, 1)})

    def forward(self, x, task):
        return self.heads[task](self.moe(self.body(x)))


def freeze(module, flag):
    for p in module.parameters():
        p.requires_grad = not flag


torch.manual_seed(81)
model = TaskSwitching()
freeze(model.body, True)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
seen = {"sign": [], "size": []}
for step in range(60):
    if step == 20:
        freeze(model.body, False)
    task = "sign" if (step // 5) % 2 == 0 else "size"
    x = torch.randn(12, 10)
    out = model(x, task)
    loss = F.cross_entropy(out, (x[:, 0] > 0).long()) if task == "sign" else F.mse_loss(out.squeeze(1), x.norm(dim=1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    seen[task].append(loss.item())
print("RESULT", *(f"{v[-1]:.6g}" for v in seen.values()))
