import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.features = features
        self.eps = eps
        self.register_buffer("shift", torch.zeros(1, features))
        self.register_buffer("log_scale", torch.zeros(1, features))
        self.initialised = False

    def _data_init(self, x):
        mean = x.mean(dim=0, keepdim=True)
        std = x.std(dim=0, keepdim=True)
        self.shift = -mean
        self.log_scale = -torch.log(std + self.eps)
        self.initialised = True

    def forward(self, x):
        if self.training and not self.initialised:
            self._data_init(x)
        y = (x + self.shift) * self.log_scale.exp()
        return y, self.log_scale.sum().expand(x.size(0))


class AffineCoupling(nn.Module):
    def __init__(self, features, hidden=32, flip=False):
        super().__init__()
        self.half = features // 2
        self.flip = flip
        self.net = nn.Sequential(
            nn.Linear(self.half, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 2 * (features - self.half)),
        )
        nn.init.normal_(self.net[-1].weight, std=0.05)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x[:, :self.half], x[:, self.half:]
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        out = (b, a) if self.flip else (a, b)
        return torch.cat(out, dim=1), s.sum(dim=1)


class Permute(nn.Module):
    def __init__(self, features, generator=None):
        super().__init__()
        self.register_buffer("index", torch.randperm(features, generator=generator))

    def forward(self, x):
        return x[:, self.index], x.new_zeros(x.size(0))
