import argparse

import torch

from potential import PairPotential
from reference import make_dataset


def get_args():
    ap = argparse.ArgumentParser(description="fit an NN potential to energies and forces")
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--energy-weight", type=float, default=0.1)
    ap.add_argument("--force-weight", type=float, default=1.0)
    ap.add_argument("--ema", type=float, default=0.9)
    return ap.parse_args()


def evaluate(potential, frames, energies, forces):
    e, f = potential(frames, training=False)
    return (e - energies).abs().mean().item(), (f - forces).abs().mean().item()


def main():
    args = get_args()
    torch.manual_seed(17)
    frames, energies, forces = make_dataset(n_frames=40, n_atoms=5, seed=3)
    train, test = slice(0, 32), slice(32, 40)
    potential = PairPotential()
    with torch.no_grad():
        potential.shift.fill_(energies[train].mean().item())

    averaged = torch.optim.swa_utils.AveragedModel(
        potential, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(args.ema)
    )
    optimizer = torch.optim.Adam(potential.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        sums = {"energy": 0.0, "force": 0.0}
        for idx in torch.randperm(32).split(args.batch_size):
            e, f = potential(frames[train][idx])
            energy_loss = (e - energies[train][idx]).pow(2).mean()
            force_loss = (f - forces[train][idx]).pow(2).mean()
            loss = args.energy_weight * energy_loss + args.force_weight * force_loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(potential.parameters(), 5.0)
            optimizer.step()
            averaged.update_parameters(potential)
            sums["energy"] += energy_loss.item() * len(idx) / 32
            sums["force"] += force_loss.item() * len(idx) / 32
        print(f"epoch {epoch}: energy mse {sums['energy']:.4f}, force mse {sums['force']:.4f}")

    mae_e, mae_f = evaluate(averaged.module, frames[test], energies[test], forces[test])
    print(f"EMA model on test frames: energy MAE {mae_e:.4f}, force MAE {mae_f:.4f}")
    size = lambda m: sum(p.detach().abs().sum().item() for p in m.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (size(potential), size(averaged), sums["force"], mae_f))


if __name__ == "__main__":
    main()
