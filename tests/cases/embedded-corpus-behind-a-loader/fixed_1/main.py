import torch
from torch import nn
from torch.utils.data import DataLoader, random_split

from autoencoder import AutoEncoder, pretrain
from coded import CodedDataset


def train_classifier(head, loader, epochs):
    optimizer = torch.optim.Adam(head.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        seen, total = 0, 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(head(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
            seen += len(x)
    return total / seen


def main():
    torch.manual_seed(63)
    raw = torch.randn(240, 10) @ torch.randn(10, 10)
    labels = (raw[:, 0] > raw[:, 1]).long()
    autoencoder = pretrain(AutoEncoder(10, 4), raw, steps=50)
    full = CodedDataset(autoencoder, raw, labels)
    train_set, held_out = random_split(full, [200, 40], generator=torch.Generator().manual_seed(1))
    loader = DataLoader(train_set, batch_size=20, shuffle=True)
    head = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    print(f"RESULT {train_classifier(head, loader, 4):.5f}")


if __name__ == "__main__":
    main()
