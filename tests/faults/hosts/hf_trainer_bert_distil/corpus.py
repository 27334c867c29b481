import torch


def make(n, seed, vocab=24, length=10, classes=3):
    """label = which third of the vocabulary appears most often"""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    band = (vocab - 3) // classes
    noise = torch.randint(3, vocab, (n, length), generator=g)
    topical = 3 + y[:, None] * band + torch.randint(0, band, (n, length), generator=g)
    x = torch.where(torch.rand(n, length, generator=g) < 0.7, topical, noise)
    x[:, 0] = 1
    return [{"input_ids": a, "labels": b} for a, b in zip(x, y)]
