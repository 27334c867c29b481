from itertools import pairwise

from torch import nn


class Encoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        blocks = []
        for a, b in pairwise([8, *widths]):
            blocks += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.GELU()]
        self.backbone = nn.Sequential(*blocks)
        self.projector = nn.Linear(widths[-1], 16)

    def forward(self, x):
        return self.projector(self.backbone(x))

    def represent(self, x):
        training, self.training = self.training, False
        self.backbone.eval()
        out = self.backbone(x)
        self.train(training)
        return out


class Probe(nn.Linear):
    pass
