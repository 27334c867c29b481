import torch
from torch import nn
import torch.nn.functional as F


class SwAVish(nn.Module):
    def __init__(self, dim=8, k=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, dim))
        self.prototypes = nn.Linear(dim, k, bias=False)

    def forward(self, x):
        return self.prototypes(F.normalize(self.body(x), dim=1))

    @torch.no_grad()
    def renormalise(self):
        w = self.prototypes.weight
        w.div_(w.norm(dim=1, keepdim=True))


def view(x):
    return x + 0.2 * torch.randn_like(x)


def swap_loss(a, b, t=0.3):
    return -(F.softmax(b.detach() / t, 1) * F.log_softmax(a / t, 1)).sum(1).mean() - (F.softmax(a.detach() / t, 1) * F.log_softmax(b / t, 1)).sum(1).mean()


def main():
    torch.manual_seed(72)
    model, data = SwAVish(), torch.randn(96, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(18):
        x = data[torch.randint(96, (24,))]
        a, b = model(view(x)), model(view(x))
        loss = swap_loss(a, b)
        model.renormalise()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {model.prototypes.weight.sum().item():.6g}")


main()
