import torch


class Quadratic:
    """0.5 * || W theta - y ||^2, a fresh (W, y) for every instance."""

    def __init__(self, dim, generator):
        self.dim = dim
        self.W = torch.randn(dim, dim, generator=generator) / dim ** 0.5
        self.y = torch.randn(dim, generator=generator)

    def init(self, generator):
        return torch.randn(self.dim, generator=generator)

    def __call__(self, theta):
        return 0.5 * (self.W @ theta - self.y).pow(2).sum()


class Logistic:
    def __init__(self, dim, generator):
        self.dim = dim
        self.X = torch.randn(4 * dim, dim, generator=generator)
        true_w = torch.randn(dim, generator=generator)
        self.t = (self.X @ true_w > 0).float()

    def init(self, generator):
        return torch.zeros(self.dim)

    def __call__(self, theta):
        z = self.X @ theta
        return torch.nn.functional.binary_cross_entropy_with_logits(z, self.t) * self.dim


FAMILIES = {"quadratic": Quadratic, "logistic": Logistic}


def task_stream(families, dim, seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        for name in families:
            problem = FAMILIES[name](dim, generator)
            yield name, problem, problem.init(generator)
