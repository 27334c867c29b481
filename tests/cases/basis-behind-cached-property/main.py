import torch
from torch import nn

from mixer import RotationMixer


def targets(x, turn):
    return torch.tanh(x @ turn)


def main():
    torch.manual_seed(41)
    turn = torch.linalg.qr(torch.randn(6, 6))[0]
    model = nn.Sequential(RotationMixer(6), nn.Tanh(), nn.Linear(6, 6))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(60):
        x = torch.randn(40, 6)
        loss = nn.functional.mse_loss(model(x), targets(x, turn))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.5f}")


main()
