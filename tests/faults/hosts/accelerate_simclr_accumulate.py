#!/usr/bin/env python
import math
import random

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Config:
    seed = 37
    batch = 16
    accumulate = 3
    epochs = 4
    temperature = 0.3
    lr = 8e-3


class Melodies(Dataset):
    """Short melodies: eight (pitch, duration) pairs. Views are transposed and time-stretched."""

    def __init__(self, n):
        motif = torch.randint(0, 12, (6, 8)).float()
        rhythm = torch.rand(6, 8) + 0.25
        self.kind = torch.randint(0, 6, (n,))
        self.pitch = motif[self.kind] + torch.randint(-1, 2, (n, 8))
        self.duration = rhythm[self.kind]

    def __len__(self):
        return len(self.kind)

    def view(self, i):
        pitch = (self.pitch[i] + random.randint(-3, 3)) / 6.0
        duration = self.duration[i] * random.uniform(0.7, 1.4)
        return torch.cat([pitch, duration]) + 0.05 * torch.randn(16)

    def __getitem__(self, i):
        return self.view(i), self.view(i), self.kind[i]


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 20))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(20, 12))

    def forward(self, x):
        return nn.functional.normalize(self.head(self.trunk(x)), dim=-1)


def nt_xent(z1, z2, temperature):
    z = torch.cat([z1, z2])
    sim = z @ z.t() / temperature
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), -math.inf)
    partner = torch.arange(len(z), device=z.device).roll(len(z1))
    return nn.functional.cross_entropy(sim, partner)


def evaluate(model, dataset):
    model.eval()
    with torch.no_grad():
        feats = nn.functional.normalize(model.trunk(torch.stack([dataset.view(i) for i in range(len(dataset))])), dim=1)
        sim = feats @ feats.t()
        sim.fill_diagonal_(-1)
        score = (dataset.kind[sim.argmax(1)] == dataset.kind).float().mean().item()
    model.train()
    return score


def main(cfg=Config):
    set_seed(cfg.seed)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=cfg.accumulate)
    dataset = Melodies(144)
    loader = DataLoader(dataset, batch_size=cfg.batch, shuffle=True)
    model = Projector()
    optimizer = optim.AdamW(model.parameters(), lr=cfg.lr)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.97)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

    updates, last = 0, None
    for epoch in range(cfg.epochs):
        epoch_loss = 0.0
        for v1, v2, _ in loader:
            with accelerator.accumulate(model):
                loss = nt_xent(model(v1), model(v2), cfg.temperature)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 2.0)
                    updates += 1
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            epoch_loss += loss.item()
        last = epoch_loss / len(loader)
        accelerator.print(f"epoch {epoch} nt-xent {last:.4f} updates {updates} lr {scheduler.get_last_lr()[0]:.5f}")

    plain = accelerator.unwrap_model(model)
    score = evaluate(plain, dataset)
    accelerator.print(f"nearest neighbour {score:.3f}")
    weights = sum(p.abs().sum().item() for p in plain.parameters())
    print("RESULT %.6g %.6g %.6g %d" % (weights, last, score, updates))


if __name__ == "__main__":
    main()
