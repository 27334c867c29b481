import torch
from torch import nn
import torch.nn.functional as F

from synth import shapes


def pretrain_classifier(gen, steps=12):
    """A very small stand-in for VGG."""
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(8 * 64, 2),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    hits = []
    for _ in range(steps):
        x, y = shapes(16, gen)
        logits = net(x)
        opt.zero_grad()
        F.cross_entropy(logits, y).backward()
        opt.step()
        hits.append((logits.argmax(1) == y).float().mean().item())
    return net.eval().requires_grad_(False), sum(hits[-4:]) / 4


class FeatureLoss(nn.Module):
    def __init__(self, backbone, layers):
        super().__init__()
        self.backbone = backbone
        self.layers = layers

    def features(self, x):
        for i, layer in enumerate(self.backbone[: max(self.layers) + 1]):
            x = layer(x)
            if i in self.layers:
                yield x

    def forward(self, sr, hi):
        with torch.no_grad():
            wanted = list(self.features(hi))
        return sum(F.mse_loss(got, want) for got, want in zip(self.features(sr), wanted))
