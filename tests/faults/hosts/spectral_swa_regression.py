#!/usr/bin/env python
"""Spectrally normalised regression whose last epochs are averaged (SWA); argparse, one main, small helpers."""
import argparse
import copy

import torch
from torch.nn.utils.parametrizations import spectral_norm
from torch.optim.swa_utils import SWALR, AveragedModel


def get_args(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=9)
    ap.add_argument("--swa-start", type=int, default=6)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--seed", type=int, default=21)
    return ap.parse_args(argv)


def make_data(n=80):
    x = torch.rand(n, 3) * 2 - 1
    y = (x[:, :1] * x[:, 1:2]).sin() + 0.3 * x[:, 2:]
    return torch.utils.data.TensorDataset(x, y)


def build():
    return torch.nn.Sequential(
        spectral_norm(torch.nn.Linear(3, 20)),
        torch.nn.LeakyReLU(0.1),
        spectral_norm(torch.nn.Linear(20, 20)),
        torch.nn.LeakyReLU(0.1),
        torch.nn.Linear(20, 1),
    )


def run_epoch(model, loader, criterion, optimizer):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


@torch.no_grad()
def evaluate(model, dataset, criterion):
    x, y = dataset.tensors
    return criterion(model(x), y).item()


def main(argv=None):
    args = get_args(argv)
    torch.manual_seed(args.seed)
    data = make_data()
    loader = torch.utils.data.DataLoader(data, batch_size=20, shuffle=True, generator=torch.Generator().manual_seed(args.seed))
    model = build()
    start = copy.deepcopy(model.state_dict())
    averaged = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.8)
    swa_scheduler = SWALR(optimizer, swa_lr=args.lr / 2, anneal_epochs=2)
    criterion = torch.nn.SmoothL1Loss()
    for epoch in range(args.epochs):
        train = run_epoch(model, loader, criterion, optimizer)
        if epoch >= args.swa_start:
            averaged.update_parameters(model)
            swa_scheduler.step()
        print(f"epoch {epoch} train {train:.5f}")
    moved = sum((a - start[k]).norm().item() for k, a in model.state_dict().items() if a.is_floating_point())
    averaged.eval()
    print("RESULT", f"{train:.6f}", f"{evaluate(averaged, data, criterion):.6f}", f"{moved:.5f}")


if __name__ == "__main__":
    main([])
