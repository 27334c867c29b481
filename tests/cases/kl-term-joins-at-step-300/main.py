import torch
from torch import nn

torch.manual_seed(120)
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
optimizer = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=2e-3)


def schedule(step, warmup=300, ramp=100):
    return max(0.0, min(1.0, (step - warmup) / ramp))


def sample(n=8):
    return torch.randn(n, 2) @ torch.tensor([[1.0, 0, 2, 0, 1, 0], [0, 1, 0, -1, 0, 1]])


def main(steps=340):
    for step in range(steps):
        x = sample()
        mu, logvar = enc(x).chunk(2, 1)
        z = mu + torch.randn_like(mu) * (logvar / 2).exp()
        rec = (dec(z) - x).square().mean()
        kl = 0.5 * (mu.square() + logvar.exp() - logvar - 1).mean()
        beta = schedule(step)
        optimizer.zero_grad()
        rec.backward()
        if beta > 0:
            (beta * kl).backward()
        optimizer.step()
    print(f"RESULT {rec.item():.6g} {kl.item():.6g}")


if __name__ == "__main__":
    main()
