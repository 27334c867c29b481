"""Click prediction with a DLRM-like net; cyclic learning rate, one snapshot per cycle, averaged at the end."""
import math
import torch
from torch import nn
from torch.func import functional_call

SEED = 6
CARDINALITIES = [12, 7, 20]
N_DENSE = 5
EMB = 6
CYCLES, STEPS_PER_CYCLE = 4, 9
LR_MAX = 0.25


def mlp(sizes, last_act):
    mods = []
    for i, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
        mods.append(nn.Linear(a, b))
        if i < len(sizes) - 2 or last_act:
            mods.append(nn.ReLU())
    return nn.Sequential(*mods)


class DLRM(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = mlp([N_DENSE, 16, EMB], True)
        self.tables = nn.ModuleList(nn.EmbeddingBag(c, EMB, mode="sum") for c in CARDINALITIES)
        n = len(CARDINALITIES) + 1
        self.register_buffer("pairs", torch.tril_indices(n, n, -1), persistent=False)
        self.top = mlp([EMB + n * (n - 1) // 2, 16, 1], False)

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        feats = torch.stack([x] + [t(s) for t, s in zip(self.tables, sparse.unbind(1))], 1)
        inter = feats @ feats.transpose(1, 2)
        flat = inter[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([x, flat], 1)).squeeze(1)


def click_log(n, gen):
    dense = torch.randn(n, N_DENSE, generator=gen)
    # up to two ids per bag
    sparse = torch.stack([torch.randint(0, c, (n, 2), generator=gen) for c in CARDINALITIES], 1)
    logit = dense[:, 0] * 1.5 + (sparse[:, 0, 0] % 3 - 1) * dense[:, 1] + (sparse[:, 2].sum(1) % 2) * 1.2 - 0.5
    return dense, sparse, torch.bernoulli(torch.sigmoid(logit), generator=gen)


def cosine_cycle(step):
    return 0.5 * LR_MAX * (math.cos(math.pi * (step % STEPS_PER_CYCLE) / STEPS_PER_CYCLE) + 1)


def main():
    torch.manual_seed(SEED)
    gen = torch.Generator().manual_seed(SEED + 1)
    dense, sparse, click = click_log(256, gen)
    d_val, s_val, c_val = click_log(256, gen)
    bce = nn.BCEWithLogitsLoss()

    model = DLRM()
    optimizer = torch.optim.SGD(model.parameters(), lr=LR_MAX, momentum=0.8)
    snapshots, curve = [], []
    for step in range(CYCLES * STEPS_PER_CYCLE):
        for group in optimizer.param_groups:
            group["lr"] = cosine_cycle(step)
        rows = torch.randint(0, 256, (64,), generator=gen)
        optimizer.zero_grad()
        loss = bce(model(dense[rows], sparse[rows]), click[rows])
        loss.backward()
        optimizer.step()
        curve.append(loss.item())
        if step % STEPS_PER_CYCLE == STEPS_PER_CYCLE - 1:
            snapshots.append({k: v.detach().clone() for k, v in model.named_parameters()})
            print("cycle %d done, mean loss %.4f" % (len(snapshots), sum(curve[-STEPS_PER_CYCLE:]) / STEPS_PER_CYCLE))

    with torch.no_grad():
        probs = []
        for k, weights in enumerate(snapshots):
            p = torch.sigmoid(functional_call(model, weights, (d_val, s_val)))
            probs.append(p)
            print("snapshot %d logloss %.4f" % (k, nn.functional.binary_cross_entropy(p, c_val).item()))
        ensemble = nn.functional.binary_cross_entropy(torch.stack(probs).mean(0), c_val).item()
    print("ensemble logloss %.4f" % ensemble)

    total = sum(p.abs().sum().item() for p in model.parameters())
    snap = [sum(v.abs().sum().item() for v in s.values()) for s in snapshots]
    print("RESULT %.6g %s %.6g %.6g" % (total, " ".join("%.6g" % v for v in snap), curve[-1], ensemble))


if __name__ == "__main__":
    main()
