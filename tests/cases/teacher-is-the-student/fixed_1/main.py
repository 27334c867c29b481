import torch
from torch import nn

from selfdistill import SelfDistiller


def build():
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5))


def main():
    torch.manual_seed(30)
    distiller = SelfDistiller(build(), decay=0.99)
    optimizer = torch.optim.AdamW(distiller.student.parameters(), lr=2e-3)
    for step in range(60):
        x = torch.randn(32, 12)
        loss = distiller.loss(x, x[:, :5].argmax(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        distiller.follow()
    print(f"RESULT {loss.item():.5f}")


if __name__ == "__main__":
    main()
