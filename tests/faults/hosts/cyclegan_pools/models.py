import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, nf):
        super().__init__()
        self.convBlock = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(nf, nf, 3), nn.InstanceNorm2d(nf, affine=True), nn.ReLU(inplace=True),
            nn.ReflectionPad2d(1), nn.Conv2d(nf, nf, 3), nn.InstanceNorm2d(nf, affine=True))

    def forward(self, x):
        return x + self.convBlock(x)


def resnetGenerator(nf=6, nBlocks=1):
    return nn.Sequential(
        nn.ReflectionPad2d(1), nn.Conv2d(1, nf, 3), nn.ReLU(inplace=True),
        *[ResidualBlock(nf) for _ in range(nBlocks)],
        nn.ReflectionPad2d(1), nn.Conv2d(nf, 1, 3), nn.Tanh())


def patchDiscriminator(nf=6):
    return nn.Sequential(
        nn.Conv2d(1, nf, 4, stride=2, padding=1), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(nf, nf * 2, 3, padding=1), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(nf * 2, 1, 3, padding=1))
