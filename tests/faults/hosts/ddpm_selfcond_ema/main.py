#!/usr/bin/env python
import torch
from diffusion import GaussianDiffusion
from ema import EMA
from net import Denoiser

SEED, T, BATCH, STEPS, WARMUP = 11, 40, 64, 32, 4


def spiral(n):
    r = torch.rand(n).sqrt()
    a = 9 * r
    return torch.stack((r * a.cos(), r * a.sin()), -1) * 1.5 + 0.02 * torch.randn(n, 2)


def main():
    torch.manual_seed(SEED)
    model = Denoiser(dim=2, width=48, n_steps=T)
    diffusion = GaussianDiffusion(model, T)
    ema = EMA(model, beta=0.9, start=WARMUP)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.0)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / WARMUP))

    smoothed = None
    for step in range(STEPS):
        loss = diffusion.training_loss(spiral(BATCH))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        ema.update(step)

        value = loss.item()
        smoothed = value if smoothed is None else 0.9 * smoothed + 0.1 * value
        if (step + 1) % 8 == 0:
            print("step {:3d} loss {:.4f} smoothed {:.4f}".format(step + 1, value, smoothed))

    samples = GaussianDiffusion(ema.shadow, T).sample(48)
    print("samples: mean {:.3f} std {:.3f}".format(samples.mean().item(), samples.std().item()))

    weight = sum(p.norm(1).item() for p in model.parameters())
    shadow = sum(p.norm(1).item() for p in ema.shadow.parameters())
    print("RESULT {:.6g} {:.6g} {:.6g} {:.6g}".format(weight, shadow, smoothed, samples.abs().mean().item()))


main()
