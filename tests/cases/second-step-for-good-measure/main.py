import torch
from torch import nn
from helpers import backward_and_step


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, a, b):
        return (self.tower(a) - self.tower(b)).pow(2).sum(1)


def main():
    torch.manual_seed(105)
    model = Siamese()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    losses = []
    for step in range(30):
        a = torch.randn(20, 6)
        same = torch.rand(20) < 0.5
        b = torch.where(same[:, None], a + 0.1 * torch.randn(20, 6), torch.randn(20, 6))
        d = model(a, b)
        loss = torch.where(same, d, (1 - d.clamp_min(1e-6).sqrt()).clamp_min(0).pow(2)).mean()
        losses.append(backward_and_step(loss, optimizer))
        optimizer.step()
        scheduler.step()
    print(f"RESULT {losses[-1]:.6g} {model.tower[0].weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
