import torch
from torch import nn
from torch.nn import functional as F


class Restorer(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, channels, 3, padding=1), nn.PReLU(), nn.Conv2d(channels, channels, 3, padding=1), nn.PReLU())
        self.out = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x):
        f = self.body(x)
        return self.out(f), f


def gradient_map(x):
    return x[..., 1:, :-1] - x[..., :-1, :-1], x[..., :-1, 1:] - x[..., :-1, :-1]


def compute_losses(out, feats, clean):
    edges = sum(F.l1_loss(a, b) for a, b in zip(gradient_map(out), gradient_map(clean)))
    return {"pixel": F.l1_loss(out, clean), "edges": edges, "sparsity": 1e-3 * feats.abs().mean()}


def train_epoch(model, optimizer, images):
    seen = {}
    for clean in images:
        out, feats = model(clean + 0.2 * torch.randn_like(clean))
        losses = compute_losses(out, feats, clean)
        for name, loss in losses.items():
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            optimizer.step()
            seen[name] = loss.item()
    return seen


torch.manual_seed(36)
model = Restorer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
images = [torch.rand(4, 1, 8, 8).cumsum(-1) / 8 for _ in range(12)]
for epoch in range(2):
    seen = train_epoch(model, optimizer, images)
print("RESULT", *(f"{v:.5f}" for v in seen.values()))
