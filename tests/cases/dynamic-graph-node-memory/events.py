import torch


def stream(nodes, feats, batches, size=10):
    g = torch.Generator().manual_seed(5)
    found = []
    for _ in range(batches):
        src = torch.randint(0, nodes, (size,), generator=g)
        dst = (src + torch.randint(1, 4, (size,), generator=g)) % nodes
        neg = torch.randint(0, nodes, (size,), generator=g)
        found.append((src, dst, neg, torch.randn(size, feats, generator=g)))
    return found
