# %% [markdown]
# Topics with a Gumbel-softmax bottleneck; temperature annealed. Written as notebook cells.

# %%
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(4)
torch.manual_seed(4)

# %% three topics over thirty words
topics = rng.dirichlet(np.full(30, 0.15), size=3)
docs = np.stack([rng.multinomial(25, topics[rng.integers(3)]) for _ in range(48)])
X = torch.tensor(docs, dtype=torch.float32)

# %%
enc = nn.Sequential(nn.Linear(30, 20), nn.ReLU(), nn.Linear(20, 3))
dec = nn.Linear(3, 30, bias=False)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=0.02)
tau, losses, usage = 2.0, [], torch.zeros(3)

# %%
for epoch in range(5):
    for rows in torch.randperm(len(X)).split(8):
        x = X[rows]
        logits = enc(x / x.sum(1, keepdim=True))
        z = F.gumbel_softmax(logits, tau=tau)
        nll = -(x * F.log_softmax(dec(z), dim=1)).sum(1).mean()
        q = F.softmax(logits, dim=1)
        kl = (q * (q.clamp_min(1e-8).log() + np.log(3))).sum(1).mean()
        loss = nll + 0.5 * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        usage = 0.9 * usage + 0.1 * q.detach().mean(0)
    tau = max(0.5, tau * 0.8)
    print(epoch, round(np.mean(losses[-6:]), 4), usage.numpy().round(3))

# %%
with torch.no_grad():
    perplexity = torch.exp(-(X * F.log_softmax(dec(F.one_hot(enc(X / X.sum(1, keepdim=True)).argmax(1), 3).float()), 1)).sum() / X.sum())
print("RESULT", f"{np.mean(losses[-6:]):.6f}", f"{perplexity.item():.5f}", *(f"{u:.5f}" for u in usage.tolist()))
