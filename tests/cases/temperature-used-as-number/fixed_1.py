import math

import torch
from torch import nn
import torch.nn.functional as F


class Clip(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.image, self.text = nn.Linear(10, dim), nn.Linear(6, dim)
        self.log_t = nn.Parameter(torch.tensor(1.0))

    def forward(self, image, text):
        a, b = F.normalize(self.image(image), dim=1), F.normalize(self.text(text), dim=1)
        return a @ b.t() * self.log_t.exp()


def pairs(n, mix):
    z = torch.randn(n, 4)
    return torch.cat([z, torch.randn(n, 6)], 1), z @ mix


def main():
    torch.manual_seed(107)
    clip, mix = Clip(), torch.randn(4, 6)
    optimizer = torch.optim.AdamW(clip.parameters(), lr=1e-2, weight_decay=0.0)
    target = torch.arange(16)
    for step in range(40):
        logits = clip(*pairs(16, mix))
        loss = (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {clip.log_t.item():.6g}")


main()
