import torch
from torch import nn

from features import FeatureCache


class Probe(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.neck = nn.Linear(width, 16)
        self.head = nn.Linear(16, classes)

    def forward(self, f):
        return self.head(torch.relu(self.neck(f * self.scale)))


def main():
    torch.manual_seed(24)
    backbone = nn.Sequential(nn.Conv1d(2, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
    cache = FeatureCache(backbone)
    data = torch.randn(90, 2, 12)
    labels = (data.mean((1, 2)) > 0).long()
    probe = Probe(32, 2)
    optimizer = torch.optim.AdamW([
        {"params": [probe.scale], "lr": 1e-3, "weight_decay": 0.0},
        {"params": [*probe.neck.parameters(), *probe.head.parameters()]},
    ], lr=1e-2)
    history = {"loss": [], "norm": []}
    for epoch in range(6):
        for rows in torch.randperm(90).split(15):
            f = torch.stack([cache(int(i), data[i]) for i in rows])
            loss = nn.functional.cross_entropy(probe(f), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(probe.parameters(), 1.0)
            optimizer.step()
            history["loss"].append(loss.detach())
            history["norm"].append(norm)
    print(f"RESULT {torch.stack(history['loss'][-6:]).mean():.5f} {len(cache)} {max(history['norm']):.4f}")


main()
