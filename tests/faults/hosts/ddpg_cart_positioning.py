import copy
from dataclasses import dataclass
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Args:
    seed: int = 101
    total_steps: int = 130
    learning_starts: int = 60
    train_every: int = 2
    batch_size: int = 48
    gamma: float = 0.9
    tau: float = 0.1
    actor_lr: float = 2e-3
    critic_lr: float = 1e-2
    noise_theta: float = 0.2
    noise_sigma: float = 0.15


class CartEnv:
    """Bring a cart to the origin and stop there."""
    obs_dim, act_dim = 2, 1

    def __init__(self, rng):
        self.rng = rng

    def reset(self):
        self.s = self.rng.uniform(-1, 1, 2).astype(np.float32)
        self.t = 0
        return self.s.copy()

    def step(self, a):
        x, v = self.s
        v = 0.95 * v + 0.25 * float(np.clip(a, -1, 1))
        x = float(np.clip(x + 0.3 * v, -2, 2))
        self.s = np.array([x, v], dtype=np.float32)
        self.t += 1
        return self.s.copy(), -(x * x + 0.1 * v * v), self.t >= 15


class OUNoise:
    def __init__(self, theta, sigma, rng):
        self.theta, self.sigma, self.rng, self.x = theta, sigma, rng, 0.0

    def __call__(self):
        self.x += -self.theta * self.x + self.sigma * self.rng.standard_normal()
        return self.x


class ReplayBuffer:
    def __init__(self, capacity, obs_dim, act_dim, rng):
        self.o = np.zeros((capacity, obs_dim), np.float32)
        self.a = np.zeros((capacity, act_dim), np.float32)
        self.r = np.zeros((capacity, 1), np.float32)
        self.o2 = np.zeros((capacity, obs_dim), np.float32)
        self.n, self.rng = 0, rng

    def add(self, o, a, r, o2):
        self.o[self.n], self.a[self.n], self.r[self.n], self.o2[self.n] = o, a, r, o2
        self.n += 1

    def sample(self, k):
        i = self.rng.integers(0, self.n, k)
        return [torch.from_numpy(z[i]) for z in (self.o, self.a, self.r, self.o2)]


def mlp(i, o, out=None):
    layers = [nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, o)]
    return nn.Sequential(*layers, *([out] if out else []))


@torch.no_grad()
def polyak(src, dst, tau):
    for p, q in zip(src.parameters(), dst.parameters()):
        q.lerp_(p, tau)


def main():
    args = Args()
    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    env, noise = CartEnv(rng), OUNoise(args.noise_theta, args.noise_sigma, rng)
    buffer = ReplayBuffer(args.total_steps, env.obs_dim, env.act_dim, rng)
    actor = mlp(env.obs_dim, env.act_dim, nn.Tanh())
    qf = mlp(env.obs_dim + env.act_dim, 1)
    target_actor, target_qf = copy.deepcopy(actor).requires_grad_(False), copy.deepcopy(qf).requires_grad_(False)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=args.actor_lr)
    q_opt = torch.optim.Adam(qf.parameters(), lr=args.critic_lr)

    obs, ep_ret, returns, q_losses = env.reset(), 0.0, [], []
    for step in range(args.total_steps):
        if step < args.learning_starts:
            act = rng.uniform(-1, 1, env.act_dim)
        else:
            with torch.no_grad():
                act = np.clip(actor(torch.from_numpy(obs)).numpy() + noise(), -1, 1)
        next_obs, rew, done = env.step(act[0])
        buffer.add(obs, act, rew, next_obs)
        obs, ep_ret = next_obs, ep_ret + rew
        if done:
            returns.append(ep_ret)
            obs, ep_ret = env.reset(), 0.0

        if step >= args.learning_starts and step % args.train_every == 0:
            o, a, r, o2 = buffer.sample(args.batch_size)
            with torch.no_grad():
                backup = r + args.gamma * target_qf(torch.cat([o2, target_actor(o2)], 1))
            q_loss = F.mse_loss(qf(torch.cat([o, a], 1)), backup)
            q_opt.zero_grad()
            q_loss.backward()
            q_opt.step()

            actor_loss = -qf(torch.cat([o, actor(o)], 1)).mean()
            actor_opt.zero_grad()
            actor_loss.backward()
            actor_opt.step()

            polyak(actor, target_actor, args.tau)
            polyak(qf, target_qf, args.tau)
            q_losses.append(q_loss.item())
            if len(q_losses) % 7 == 0:
                print(f"step={step} q_loss={q_losses[-1]:.5f} actor_loss={actor_loss.item():.5f} return={returns[-1]:.4f}")

    l1 = [sum(p.abs().sum().item() for p in m.parameters()) for m in (actor, qf, target_actor, target_qf)]
    print("RESULT " + " ".join(f"{z:.6g}" for z in [*l1, q_losses[-1], returns[-1]]))


if __name__ == "__main__":
    main()
