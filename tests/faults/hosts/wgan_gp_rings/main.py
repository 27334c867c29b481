"""Train a WGAN-GP on two concentric rings."""
import argparse
from typing import Iterator

import torch
from torch import Tensor

from losses import critic_objective, gradient_penalty
from nets import Critic, Generator
from rings import ring_stream


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generator-steps", type=int, default=6)
    parser.add_argument("--n-critic", type=int, default=4)
    parser.add_argument("--gp-weight", type=float, default=5.0)
    parser.add_argument("--drift", type=float, default=1e-3)
    parser.add_argument("--batch-size", type=int, default=48)
    parser.add_argument("--latent-dim", type=int, default=4)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=21)
    return parser.parse_args()


def update_critic(critic, generator, optimizer, stream: Iterator[Tensor], args) -> dict:
    real = next(stream)
    with torch.no_grad():
        fake = generator(torch.randn(len(real), args.latent_dim))

    real_score, fake_score = critic(real), critic(fake)
    wasserstein = critic_objective(real_score, fake_score)
    penalty = gradient_penalty(critic, real, fake)
    drift = real_score.square().mean()
    loss = wasserstein + args.gp_weight * penalty + args.drift * drift

    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {"w": -wasserstein.item(), "gp": penalty.item(), "critic": loss.item()}


def update_generator(critic, generator, optimizer, args) -> float:
    critic.requires_grad_(False)
    loss = -critic(generator(torch.randn(args.batch_size, args.latent_dim))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    critic.requires_grad_(True)
    return loss.item()


def main() -> None:
    args = parse_args()
    torch.manual_seed(args.seed)
    generator = Generator(args.latent_dim)
    critic = Critic()
    opt_g = torch.optim.Adam(generator.parameters(), lr=args.lr, betas=(0.0, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=args.lr, betas=(0.0, 0.9))
    stream = ring_stream(args.batch_size, seed=args.seed + 1)

    history = []
    for step in range(args.generator_steps):
        for _ in range(args.n_critic):
            stats = update_critic(critic, generator, opt_c, stream, args)
        stats["generator"] = update_generator(critic, generator, opt_g, args)
        history.append(stats)
        print(f"step {step}: " + " ".join(f"{k}={v:.4f}" for k, v in stats.items()))

    sizes = [sum(p.detach().abs().sum().item() for p in net.parameters()) for net in (generator, critic)]
    last = history[-1]
    print("RESULT %.6g %.6g %.6g %.6g" % (*sizes, last["critic"], last["generator"]))


if __name__ == "__main__":
    main()
