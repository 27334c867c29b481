# REINFORCE + learned baseline on a slippery corridor
import torch, torch.nn as nn, torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(12)
L, gamma, beta = 7, 0.97, 0.01


def corridor(max_t=16, slip=0.1):
    """coroutine env: yields (obs, reward, done), gets an action sent in"""
    pos, t, r, done = 1, 0, 0.0, False
    while True:
        a = yield F.one_hot(torch.tensor(pos), L).float(), r, done
        if torch.rand(()) < slip:
            a = 1 - a
        pos = max(0, pos + (1 if a else -1))
        t += 1
        goal = pos == L - 1
        r = 1.0 if goal else -0.02
        done = goal or t == max_t
        pos = min(pos, L - 1)


pi = nn.Sequential(nn.Linear(L, 24), nn.Tanh(), nn.Linear(24, 2))
v = nn.Sequential(nn.Linear(L, 24), nn.Tanh(), nn.Linear(24, 1))
opt_pi = torch.optim.Adam(pi.parameters(), lr=2e-2)
opt_v = torch.optim.Adam(v.parameters(), lr=3e-2)


def rollout():
    env = corridor()
    s, _, done = next(env)
    S, A, R = [], [], []
    while not done:
        with torch.no_grad():
            a = Categorical(logits=pi(s)).sample()
        s2, r, done = env.send(a.item())
        S.append(s); A.append(a); R.append(r)
        s = s2
    return torch.stack(S), torch.stack(A), R


def reward_to_go(R):
    G, g = [], 0.0
    for r in reversed(R):
        g = r + gamma * g
        G.append(g)
    return torch.tensor(G[::-1])


lens, scores = [], []
for it in range(20):
    eps = [rollout() for _ in range(5)]
    S = torch.cat([e[0] for e in eps])
    A = torch.cat([e[1] for e in eps])
    G = torch.cat([reward_to_go(e[2]) for e in eps])

    b = v(S).squeeze(-1)
    adv = G - b.detach()
    adv = (adv - adv.mean()) / (adv.std() + 1e-6)
    dist = Categorical(logits=pi(S))
    loss_pi = -(dist.log_prob(A) * adv).mean() - beta * dist.entropy().mean()
    loss_v = F.mse_loss(b, G)

    opt_pi.zero_grad()
    loss_pi.backward()
    opt_pi.step()

    opt_v.zero_grad()
    loss_v.backward()
    opt_v.step()

    scores.append(sum(sum(e[2]) for e in eps) / len(eps))
    lens.append(len(S) / len(eps))
    if it % 5 == 4:
        print("it %2d  return %+.3f  len %.1f  v-loss %.4f  H %.3f"
              % (it, scores[-1], lens[-1], loss_v.item(), dist.entropy().mean().item()))

w = lambda m: sum(p.abs().sum().item() for p in m.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (w(pi), w(v), loss_v.item(), sum(scores)))
