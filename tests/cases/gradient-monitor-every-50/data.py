import torch


def batches(dim, size):
    w = torch.linspace(-1, 1, dim)
    while True:
        x = torch.randn(size, dim)
        yield x, torch.sin(x @ w).unsqueeze(1)
