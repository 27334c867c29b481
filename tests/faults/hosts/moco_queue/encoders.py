import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvTrunk(nn.Module):
    def __init__(self, feat=16, out=12):
        super().__init__()
        self.c1 = nn.Conv1d(1, 8, 5, stride=2, padding=2)
        self.c2 = nn.Conv1d(8, feat, 3, stride=2, padding=1)
        self.head = nn.Sequential(nn.Linear(feat, feat), nn.ReLU(), nn.Linear(feat, out))

    def features(self, x):
        x = F.relu(self.c1(x))
        return F.relu(self.c2(x)).mean(dim=-1)

    def forward(self, x):
        return F.normalize(self.head(self.features(x)), dim=1)


@torch.no_grad()
def momentum_update(online, slow, m):
    for p, q in zip(online.parameters(), slow.parameters()):
        q.mul_(m).add_(p, alpha=1 - m)
