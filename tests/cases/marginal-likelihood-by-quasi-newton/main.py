import math

import torch
from torch import nn


class GaussianProcess(nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        self.log_scale = nn.Parameter(torch.zeros(()))
        self.log_width = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, a, b):
        return self.log_scale.exp() * torch.exp(-0.5 * torch.cdist(a, b).pow(2) / self.log_width.exp().pow(2))

    def factor(self):
        k = self.kernel(self.x, self.x) + (self.log_noise.exp() + 1e-5) * torch.eye(len(self.x))
        return torch.linalg.cholesky(k)

    def loss(self):
        chol = self.factor()
        alpha = torch.cholesky_solve(self.y[:, None], chol)
        return 0.5 * (self.y @ alpha).squeeze() + chol.diagonal().log().sum() + 0.5 * len(self.y) * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, z):
        return (self.kernel(z, self.x) @ torch.cholesky_solve(self.y[:, None], self.factor())).squeeze(-1)


torch.manual_seed(20)
x = 6 * torch.rand(30, 1)
gp = GaussianProcess(x, torch.sin(x[:, 0]) + 0.1 * torch.randn(30))
solver = torch.optim.LBFGS(gp.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe")
history = []


def closure():
    solver.zero_grad()
    value = gp.loss()
    value.backward()
    history.append(value.item())
    return value


for _ in range(4):
    solver.step(closure)
print(f"RESULT {history[0]:.4f} {history[-1]:.4f} {gp.predict(torch.tensor([[1.5]])).item():.4f}")
