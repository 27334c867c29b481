import torch


def permuted_tasks(n_tasks, n=96, d=12, seed=0):
    """Same four-class problem, input coordinates shuffled differently per task."""
    g = torch.Generator().manual_seed(seed)
    centres = 1.5 * torch.randn(4, d, generator=g)
    for k in range(n_tasks):
        order = torch.randperm(d, generator=g) if k else torch.arange(d)
        y = torch.randint(0, 4, (n,), generator=g)
        x = (centres[y] + torch.randn(n, d, generator=g))[:, order]
        cut = int(0.75 * n)
        yield (x[:cut], y[:cut]), (x[cut:], y[cut:])
