import numpy as np
import torch
from torch import nn

rs = np.random.RandomState(14)
torch.manual_seed(14)

# --- experiment constants -------------------------------------------------
M = 4            # ensemble members
ROUNDS = 4       # acquisition rounds
STEPS = 10       # gradient steps per round
QUERY = 6        # labels bought per round
LAMBDA = 0.1     # negative correlation strength


def oracle(x):
    """noisy black box, expensive in real life"""
    return np.sin(2 * x) * np.exp(-0.3 * x ** 2) + 0.03 * rs.randn(*x.shape)


pool_x = np.sort(rs.uniform(-3, 3, size=(120, 1)), axis=0)
grid = torch.linspace(-3, 3, 61).unsqueeze(1)
labelled = list(rs.choice(120, 10, replace=False))
pool_y = np.full_like(pool_x, np.nan)
pool_y[labelled] = oracle(pool_x[labelled])


def as_tensor(a):
    return torch.as_tensor(a, dtype=torch.float32)


def new_member():
    return nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))


members = [new_member() for _ in range(M)]
optims = [torch.optim.Adam(m.parameters(), lr=lr) for m, lr in zip(members, np.geomspace(1e-2, 4e-2, M))]

fit_loss = np.zeros((M, ROUNDS, STEPS))
diversity = np.zeros((ROUNDS, STEPS))
disagreement = np.zeros((ROUNDS, len(pool_x)))

for r in range(ROUNDS):
    x, y = as_tensor(pool_x[labelled]), as_tensor(pool_y[labelled])
    # every member sees its own bootstrap of what has been labelled so far
    boots = as_tensor(rs.multinomial(len(labelled), np.ones(len(labelled)) / len(labelled), size=M)).unsqueeze(-1)

    for s in range(STEPS):
        f = torch.stack([m(x) for m in members])
        per_member = (boots * (f - y) ** 2).mean(dim=(1, 2))
        others = ((f.sum(0) - f) / (M - 1)).detach()
        spread = (f - others).pow(2).mean()
        objective = per_member.sum() - LAMBDA * spread

        for o in optims:
            o.zero_grad()
        objective.backward()
        for o in optims:
            o.step()

        fit_loss[:, r, s] = per_member.detach().numpy()
        diversity[r, s] = spread.item()

    with torch.no_grad():
        predictions = torch.stack([m(as_tensor(pool_x)) for m in members]).squeeze(-1).numpy()
    disagreement[r] = predictions.std(axis=0)

    # buy labels where the members disagree most, away from each other
    score = disagreement[r].copy()
    score[labelled] = -np.inf
    for _ in range(QUERY):
        k = int(score.argmax())
        labelled.append(k)
        pool_y[k] = oracle(pool_x[k])
        score[max(0, k - 2):k + 3] = -np.inf
    print("round %d: n=%d fit %s diversity %.4f max std %.3f" % (
        r, len(labelled), np.array2string(fit_loss[:, r, -1], precision=4), diversity[r, -1], disagreement[r].max()))

with torch.no_grad():
    mean = torch.stack([m(grid) for m in members]).mean(0)
    truth = torch.sin(2 * grid) * torch.exp(-0.3 * grid ** 2)
    rmse = (mean - truth).pow(2).mean().sqrt().item()
sizes = [sum(p.detach().abs().sum().item() for p in m.parameters()) for m in members]
print("RESULT", *("%.6g" % v for v in sizes + [fit_loss[:, -1, -1].mean(), diversity[-1, -1], rmse]))
