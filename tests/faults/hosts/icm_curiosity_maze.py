#!/usr/bin/env python
"""Curiosity driven exploration (Pathak et al. 2017) in a maze with no extrinsic
reward except at the far corner. Policy gradient with intrinsic rewards."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

MAZE = ["#########",
        "#S..#...#",
        "#.#.#.#.#",
        "#.#...#G#",
        "#########"]
WALLS = torch.tensor([[c == "#" for c in row] for row in MAZE])
DIRS = ((0, 1), (1, 0), (0, -1), (-1, 0))


class Maze(object):
    def __init__(self):
        self.visited = set()

    def reset(self):
        self.r, self.c = 1, 1
        return self.obs()

    def obs(self):
        self.visited.add((self.r, self.c))
        around = WALLS[self.r - 1:self.r + 2, self.c - 1:self.c + 2].float().flatten()
        return torch.cat([around, torch.tensor([self.r / 4.0, self.c / 8.0])])

    def step(self, a):
        dr, dc = DIRS[a]
        if not WALLS[self.r + dr, self.c + dc]:
            self.r, self.c = self.r + dr, self.c + dc
        return self.obs(), float(MAZE[self.r][self.c] == "G")


class ICM(nn.Module):
    def __init__(self, obs_dim, n_act, feat=12):
        super(ICM, self).__init__()
        self.n_act = n_act
        self.phi = nn.Sequential(nn.Linear(obs_dim, 24), nn.ELU(), nn.Linear(24, feat))
        self.inverse = nn.Sequential(nn.Linear(2 * feat, 24), nn.ELU(), nn.Linear(24, n_act))
        self.forward_model = nn.Sequential(nn.Linear(feat + n_act, 24), nn.ELU(), nn.Linear(24, feat))

    def forward(self, s, a, s_next):
        f, f_next = self.phi(s), self.phi(s_next)
        inverse_logits = self.inverse(torch.cat([f, f_next], -1))
        onehot = F.one_hot(a, self.n_act).float()
        predicted = self.forward_model(torch.cat([f.detach(), onehot], -1))
        error = 0.5 * (predicted - f_next.detach()).pow(2).sum(-1)
        return error, F.cross_entropy(inverse_logits, a)


class Policy(nn.Module):
    def __init__(self, obs_dim, n_act):
        super(Policy, self).__init__()
        self.pre = nn.Linear(obs_dim, 32)
        self.logits = nn.Linear(32, n_act)
        self.critic = nn.Linear(32, 1)

    def forward(self, s):
        z = torch.relu(self.pre(s))
        return torch.distributions.Categorical(logits=self.logits(z)), self.critic(z).squeeze(-1)


def discounted(r, gamma):
    out, acc = torch.zeros_like(r), 0.0
    for t in range(len(r) - 1, -1, -1):
        acc = r[t] + gamma * acc
        out[t] = acc
    return out


def run(opts):
    torch.manual_seed(opts.seed)
    env = Maze()
    policy, icm = Policy(11, 4), ICM(11, 4)
    optimizer = torch.optim.Adam(policy.parameters(), lr=opts.lr)
    icm_optimizer = torch.optim.Adam(icm.parameters(), lr=opts.lr)
    running_std = 1.0

    for episode in range(opts.episodes):
        s = env.reset()
        states, actions, extrinsic = [s], [], []
        for _ in range(opts.length):
            with torch.no_grad():
                a = policy(s)[0].sample()
            s, r = env.step(a.item())
            states.append(s)
            actions.append(a)
            extrinsic.append(r)
        s_all = torch.stack(states)
        a_all = torch.stack(actions)

        error, inverse_loss = icm(s_all[:-1], a_all, s_all[1:])
        icm_loss = opts.beta * error.mean() + (1 - opts.beta) * inverse_loss
        icm_optimizer.zero_grad()
        icm_loss.backward()
        icm_optimizer.step()

        intrinsic = error.detach()
        running_std = 0.9 * running_std + 0.1 * intrinsic.std().item()
        reward = torch.tensor(extrinsic) + opts.eta * intrinsic / (running_std + 1e-6)
        returns = discounted(reward, opts.gamma)

        dist, value = policy(s_all[:-1])
        advantage = returns - value
        loss = (-(dist.log_prob(a_all) * advantage.detach()).mean()
                + 0.5 * advantage.pow(2).mean() - 0.02 * dist.entropy().mean())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        if episode % 5 == 0:
            print("ep %2d | cells %2d | icm %.4f (inv %.4f) | policy %.4f | bonus %.4f" % (
                episode, len(env.visited), icm_loss.item(), inverse_loss.item(), loss.item(), intrinsic.mean().item()))

    return policy, icm, loss.item(), icm_loss.item(), len(env.visited)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--seed", type=int, default=404)
    ap.add_argument("--episodes", type=int, default=20)
    ap.add_argument("--length", type=int, default=30)
    ap.add_argument("--gamma", type=float, default=0.95)
    ap.add_argument("--beta", type=float, default=0.3)
    ap.add_argument("--eta", type=float, default=0.2)
    ap.add_argument("--lr", type=float, default=8e-3)
    policy, icm, l_pi, l_icm, seen = run(ap.parse_args([]))
    print("RESULT %.6g %.6g %.6g %.6g %d" % (
        sum(p.abs().sum().item() for p in policy.parameters()),
        sum(p.abs().sum().item() for p in icm.parameters()), l_pi, l_icm, seen))
