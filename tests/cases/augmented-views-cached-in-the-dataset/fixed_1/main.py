import torch
from torch import nn
from torch.utils.data import DataLoader

from views import AugmentedSet, Augmenter


def main():
    torch.manual_seed(22)
    x = torch.randn(48, 10)
    y = (x[:, 0] + x[:, 1] > 0).long()
    augmenter = Augmenter(10)
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
    data = AugmentedSet(x, y, augmenter)
    loader = DataLoader(data, batch_size=12, shuffle=True)
    optimizer = torch.optim.Adam([*augmenter.parameters(), *model.parameters()], lr=5e-3)
    for epoch in range(4):
        for view, label in loader:
            loss = nn.functional.cross_entropy(model(view), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"RESULT {loss.item():.5f}")


if __name__ == "__main__":
    main()
