import torch
from torch import nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.maps = []

    def forward(self, x):
        att = (self.q(x) @ self.k(x).transpose(1, 2) / x.size(-1) ** 0.5).softmax(-1)
        self.maps.append(att)
        return att @ self.v(x)


class Model(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.inp, self.att, self.out = nn.Linear(4, dim), Attention(dim), nn.Linear(dim, 2)

    def forward(self, x):
        return self.out(self.att(torch.relu(self.inp(x))).mean(1))


def main():
    torch.manual_seed(155)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    x = torch.randn(256, 12, 4)
    y = (x[:, :, 0].amax(1) > 1.5).long()
    for epoch in range(5):
        for xb, yb in zip(x.split(16), y.split(16)):
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"RESULT {loss.item():.6g} {model.att.maps[-1].max().item():.6g}")


main()
