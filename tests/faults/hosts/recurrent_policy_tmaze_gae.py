import torch
import torch.nn as nn
import torch.nn.functional as F

# T-maze: a cue (left/right) is shown only in the first cell, the turn comes at the end
# of the corridor. Needs memory, so: GRU actor-critic, truncated at CHUNK steps.

torch.manual_seed(99)
N_ENV, CHUNK, CORRIDOR = 24, 5, 2
GAMMA, LAMBDA = 0.98, 0.95


class TMazes:
    def __init__(self, n):
        self.n = n
        self.cue = torch.randint(0, 2, (n,))
        self.pos = torch.zeros(n, dtype=torch.long)

    def obs(self):
        o = torch.zeros(self.n, 4)
        first = self.pos == 0
        o[first, self.cue[first]] = 1.0
        o[:, 2] = (self.pos == CORRIDOR).float()
        o[:, 3] = 1.0
        return o

    def step(self, a):
        # actions: 0 = left, 1 = right, 2 = ahead
        at_end = self.pos == CORRIDOR
        turned = at_end & (a < 2)
        reward = torch.where(turned, torch.where(a == self.cue, 1.0, -0.5), torch.tensor(-0.05))
        reward = reward + torch.where(~at_end & (a == 2), 0.1, 0.0)
        self.pos = torch.where(~at_end & (a == 2), self.pos + 1, self.pos)
        if turned.any():
            self.pos = self.pos.masked_fill(turned, 0)
            self.cue = torch.where(turned, torch.randint(0, 2, (self.n,)), self.cue)
        return self.obs(), reward, turned.float()


class RecurrentActorCritic(nn.Module):
    def __init__(self, n_obs=4, n_act=3, n_hidden=24):
        super().__init__()
        self.n_hidden = n_hidden
        self.gru = nn.GRUCell(n_obs, n_hidden)
        self.pi = nn.Linear(n_hidden, n_act)
        self.v = nn.Linear(n_hidden, 1)

    def forward(self, o, h):
        h = self.gru(o, h)
        return torch.distributions.Categorical(logits=self.pi(h)), self.v(h).squeeze(-1), h


def advantages(rewards, values, dones, bootstrap):
    """generalised advantage estimation"""
    adv, acc = torch.zeros_like(rewards), torch.zeros(N_ENV)
    nxt = bootstrap
    for t in range(len(rewards) - 1, -1, -1):
        alive = 1 - dones[t]
        delta = rewards[t] + GAMMA * alive * nxt - values[t]
        acc = delta + GAMMA * LAMBDA * alive * acc
        adv[t] = acc
        nxt = values[t]
    return adv


env = TMazes(N_ENV)
ac = RecurrentActorCritic()
optimizer = torch.optim.Adam(ac.parameters(), lr=2e-2)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.3, total_iters=40)

obs = env.obs()
hidden = torch.zeros(N_ENV, ac.n_hidden)
solved, turns, value_losses = 0.0, 0.0, []
for update in range(40):
    logps, vals, ents, rews, dones = [], [], [], [], []
    for _ in range(CHUNK):
        dist, v, hidden = ac(obs, hidden)
        action = dist.sample()
        obs, r, d = env.step(action)
        hidden = hidden * (1 - d).unsqueeze(1)
        logps.append(dist.log_prob(action))
        ents.append(dist.entropy())
        vals.append(v)
        rews.append(r)
        dones.append(d)
        solved += (r == 1.0).sum().item()
        turns += d.sum().item()

    values, rewards, dones = torch.stack(vals), torch.stack(rews), torch.stack(dones)
    with torch.no_grad():
        _, bootstrap, _ = ac(obs, hidden)
        adv = advantages(rewards, values, dones, bootstrap)
        returns = adv + values
        adv = (adv - adv.mean()) / (adv.std() + 1e-5)
    policy_loss = -(torch.stack(logps) * adv).mean()
    value_loss = F.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss - 0.02 * torch.stack(ents).mean()

    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(ac.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    hidden = hidden.detach()
    value_losses.append(value_loss.item())

    if (update + 1) % 10 == 0:
        print(f"update {update + 1}: turns {int(turns)}, right {solved / max(turns, 1):.2f}, "
              f"reward {rewards.mean().item():+.3f}, v {value_losses[-1]:.4f}")
        solved = turns = 0.0

print("RESULT %.6g %.6g %.6g %.6g %.6g" % (
    *(sum(p.abs().sum().item() for p in m.parameters()) for m in (ac.gru, ac.pi, ac.v)),
    value_losses[-1], loss.item()))
