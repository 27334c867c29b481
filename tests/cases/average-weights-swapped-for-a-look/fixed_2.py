import torch
from torch import nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.named_parameters()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.named_parameters():
            self.shadow[k].lerp_(v, 1 - self.decay)

    @torch.no_grad()
    def apply_to(self, model):
        for k, v in model.named_parameters():
            self.backup[k] = v.clone()
            v.copy_(self.shadow[k])

    @torch.no_grad()
    def restore(self, model):
        for k, v in model.named_parameters():
            v.copy_(self.backup.pop(k))


class Denoiser(nn.Module):
    def __init__(self, dim=3, width=32):
        super().__init__()
        self.time = nn.Embedding(50, width)
        self.inp, self.mid, self.out = nn.Linear(dim, width), nn.Linear(width, width), nn.Linear(width, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


betas = torch.linspace(1e-3, 0.1, 50)
alpha_bar = torch.cumprod(1 - betas, 0)


@torch.no_grad()
def sample(model, n, dim=3):
    x = torch.randn(n, dim)
    for t in reversed(range(0, 50, 10)):
        eps = model(x, torch.full((n,), t))
        x = (x - (1 - alpha_bar[t]).sqrt() * eps) / alpha_bar[t].sqrt()
    return x.std().item()


def train(steps=60, look_every=25):
    model = Denoiser()
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    spread = []
    for step in range(1, steps + 1):
        x0 = torch.randn(32, 3) * torch.tensor([1.0, 0.5, 0.1])
        t = torch.randint(50, (32,))
        noise = torch.randn_like(x0)
        xt = alpha_bar[t].sqrt()[:, None] * x0 + (1 - alpha_bar[t]).sqrt()[:, None] * noise
        loss = F.mse_loss(model(xt, t), noise)
        optimizer.zero_grad()
        loss.backward()
        if step % look_every == 0:
            ema.apply_to(model)
            spread.append(sample(model, 64))
            ema.restore(model)
        optimizer.step()
        ema.update(model)
    return loss.item(), spread[-1]


if __name__ == "__main__":
    torch.manual_seed(33)
    print("RESULT", *(f"{v:.6g}" for v in train()))
