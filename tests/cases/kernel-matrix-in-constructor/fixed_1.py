import math

import torch


class GaussianProcess:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.log_scale = torch.zeros((), requires_grad=True)
        self.log_length = torch.zeros((), requires_grad=True)
        self.log_noise = torch.tensor(-2.0, requires_grad=True)

    def parameters(self):
        return [self.log_scale, self.log_length, self.log_noise]

    def nll(self):
        d = torch.cdist(self.x, self.x) / self.log_length.exp()
        self.K = self.log_scale.exp() * torch.exp(-0.5 * d.square())
        L = torch.linalg.cholesky(self.K + (self.log_noise.exp() + 1e-4) * torch.eye(len(self.x)))
        alpha = torch.cholesky_solve(self.y, L)
        return 0.5 * (self.y * alpha).sum() + L.diagonal().log().sum() + 0.5 * len(self.x) * math.log(2 * math.pi)


def fit(gp, steps=4):
    optimizer = torch.optim.LBFGS(gp.parameters(), lr=0.1, max_iter=6)

    def closure():
        optimizer.zero_grad()
        loss = gp.nll()
        loss.backward()
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return gp.nll().item()


torch.manual_seed(7)
torch.set_default_dtype(torch.float64)
x = torch.rand(20, 1) * 6
gp = GaussianProcess(x, x.sin() + 0.1 * torch.randn(20, 1))
print(f"RESULT {fit(gp):.4g}")
