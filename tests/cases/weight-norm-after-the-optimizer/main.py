import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


def normalised(net):
    for layer in net:
        if isinstance(layer, nn.Linear):
            weight_norm(layer)
    return net


def main():
    torch.manual_seed(82)
    net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    net = normalised(net)
    for step in range(60):
        x = torch.randn(40, 6)
        loss = nn.functional.mse_loss(net(x).squeeze(-1), x[:, 0] * x[:, 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.5f}")


main()
