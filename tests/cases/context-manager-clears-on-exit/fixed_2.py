from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def fresh_gradients(optimizer):
    try:
        yield
    finally:
        optimizer.zero_grad()


def train(model, x, y, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(epochs):
        fit_epoch(model, optimizer, x, y)
    with torch.no_grad():
        return nn.functional.mse_loss(model(x), y).item()


def fit_epoch(model, optimizer, x, y):
    for xb, yb in zip(x.split(16), y.split(16)):
        with fresh_gradients(optimizer):
            loss = nn.functional.mse_loss(model(xb), yb)
            loss.backward()
            optimizer.step()


torch.manual_seed(154)
x = torch.rand(96, 3)
model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
print(f"RESULT {train(model, x, x.prod(1, keepdim=True)):.6g}")
