import torch
from torch import nn
import torch.nn.functional as F


class Probe(nn.Module):
    def __init__(self, backbone, dim, classes):
        super().__init__()
        self.backbone = backbone.requires_grad_(False).eval()
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        with torch.no_grad():
            feats = self.backbone(x)
        return self.head(feats)


torch.manual_seed(45)
backbone = nn.Sequential(nn.Linear(9, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
model = Probe(backbone, 16, 3)
optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=0.2)
x = torch.randn(90, 9)
y = x[:, :3].argmax(1)
for epoch in range(6):
    for i in range(0, 90, 30):
        loss = F.cross_entropy(model(x[i:i + 30]), y[i:i + 30])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.inference_mode():
    acc = (model(x).argmax(1) == y).float().mean()
print(f"RESULT {loss.item():.6g} {acc.item():.4g}")
