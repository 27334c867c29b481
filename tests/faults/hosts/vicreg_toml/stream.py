import torch

centres = torch.randn(4, 8, generator=torch.Generator().manual_seed(0)) * 1.5


def labelled(n):
    y = torch.randint(0, 4, (n,))
    return centres[y] + 0.5 * torch.randn(n, 8), y


def two_views(n):
    x, _ = labelled(n)

    def view():
        keep = (torch.rand_like(x) > 0.15).float()
        return keep * x + 0.3 * torch.randn_like(x)

    return view(), view()
