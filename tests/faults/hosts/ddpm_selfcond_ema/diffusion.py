import math

import torch
import torch.nn.functional as F


def cosine_alphas_cumprod(n, s=0.008):
    t = torch.linspace(0, n, n + 1) / n
    f = torch.cos((t + s) / (1 + s) * math.pi / 2) ** 2
    betas = (1 - f[1:] / f[:-1]).clamp(max=0.99)
    return torch.cumprod(1 - betas, 0)


class GaussianDiffusion:
    def __init__(self, model, n_steps):
        self.model, self.n_steps = model, n_steps
        self.abar = cosine_alphas_cumprod(n_steps)

    def q_sample(self, x0, t, noise):
        a = self.abar[t].unsqueeze(-1)
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def predict_x0(self, xt, t, eps):
        a = self.abar[t].unsqueeze(-1)
        return ((xt - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-3, 3)

    def training_loss(self, x0):
        t = torch.randint(self.n_steps, (len(x0),))
        noise = torch.randn_like(x0)
        xt = self.q_sample(x0, t, noise)
        # self-conditioning, half of the time
        hint = torch.zeros_like(x0)
        if torch.rand(()) < 0.5:
            with torch.no_grad():
                hint = self.predict_x0(xt, t, self.model(xt, t, hint))
        return F.mse_loss(self.model(xt, t, hint), noise)

    @torch.no_grad()
    def sample(self, n, dim=2):
        x, hint = torch.randn(n, dim), torch.zeros(n, dim)
        for i in reversed(range(0, self.n_steps, 4)):
            t = torch.full((n,), i)
            eps = self.model(x, t, hint)
            hint = self.predict_x0(x, t, eps)
            # DDIM move
            prev = self.abar[i - 4] if i >= 4 else torch.tensor(1.0)
            x = prev.sqrt() * hint + (1 - prev).sqrt() * eps
        return x
