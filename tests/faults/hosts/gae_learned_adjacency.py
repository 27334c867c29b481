"""Graph autoencoder for link prediction where part of the propagation graph is learned.

The structure parameters (soft extra edges) are updated on held-out edges, the encoder on the
training edges, in turns.
"""
import itertools

import torch
from torch import nn
from torch.nn import functional as F


class StructureLearner(nn.Module):
    def __init__(self, observed, rank=4):
        super().__init__()
        n = observed.size(0)
        self.register_buffer("observed", observed)
        self.left = nn.Parameter(0.3 * torch.randn(n, rank))
        self.bias = nn.Parameter(torch.tensor(-2.0))

    def forward(self):
        extra = torch.sigmoid(self.left @ self.left.T + self.bias)
        a = torch.maximum(self.observed, extra * (1 - self.observed))
        deg = a.sum(1)
        norm = deg.rsqrt()
        return norm[:, None] * a * norm[None, :], extra


class GraphEncoder(nn.Module):
    def __init__(self, n_features, hidden, latent):
        super().__init__()
        self.w1 = nn.Linear(n_features, hidden)
        self.w2 = nn.Linear(hidden, latent)

    def forward(self, x, a):
        return a @ self.w2(F.relu(a @ self.w1(x)))


def link_logits(z, pairs):
    return (z[pairs[0]] * z[pairs[1]]).sum(-1)


def link_loss(z, positive, negative):
    logits = torch.cat([link_logits(z, positive), link_logits(z, negative)])
    labels = torch.cat([torch.ones(positive.size(1)), torch.zeros(negative.size(1))])
    return F.binary_cross_entropy_with_logits(logits, labels)


def sample_negatives(adjacency, count, generator):
    free = torch.ones_like(adjacency).triu(1) * (1 - adjacency)
    candidates = free.nonzero().T
    chosen = torch.randint(0, candidates.size(1), (count,), generator=generator)
    return candidates[:, chosen]


def make_graph(generator, n=36, communities=3):
    c = torch.arange(n) % communities
    p = 0.03 + 0.35 * (c[:, None] == c[None, :]).float()
    full = torch.bernoulli(p, generator=generator).triu(1)
    x = torch.randn(n, 8, generator=generator) + F.one_hot(c, 8)
    edges = full.nonzero().T
    edges = edges[:, torch.randperm(edges.size(1), generator=generator)]
    k = edges.size(1)
    return x, full + full.T, edges[:, : k // 2], edges[:, k // 2: 3 * k // 4], edges[:, 3 * k // 4:]


def auc(z, positive, negative):
    p, q = link_logits(z, positive), link_logits(z, negative)
    return (p[:, None] > q[None, :]).float().mean().item()


def main():
    torch.manual_seed(404)
    generator = torch.Generator().manual_seed(405)
    x, full, train_edges, struct_edges, test_edges = make_graph(generator)
    observed = torch.zeros_like(full)
    observed[train_edges[0], train_edges[1]] = 1.0
    observed = observed + observed.T + torch.eye(len(full))

    structure = StructureLearner(observed)
    encoder = GraphEncoder(x.size(1), 16, 8)
    players = {
        "encoder": (torch.optim.Adam(encoder.parameters(), lr=2e-2), train_edges),
        "structure": (torch.optim.Adam(structure.parameters(), lr=3e-2), struct_edges),
    }
    record = {name: [] for name in players}

    for step, turn in zip(range(30), itertools.cycle(["encoder", "encoder", "structure"])):
        optimizer, positive = players[turn]
        negative = sample_negatives(full, positive.size(1), generator)
        if turn == "encoder":
            with torch.no_grad():
                a, _ = structure()
            objective = link_loss(encoder(x, a), positive, negative)
        else:
            encoder.requires_grad_(False)
            a, extra = structure()
            objective = link_loss(encoder(x, a), positive, negative) + 0.1 * extra.mean()
            encoder.requires_grad_(True)
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        record[turn].append(objective.item())
        if step % 6 == 5:
            print(step, {k: round(v[-1], 4) for k, v in record.items()})

    with torch.no_grad():
        a, extra = structure()
        score = auc(encoder(x, a), test_edges, sample_negatives(full, 40, generator))
    print(f"test AUC {score:.4f}, mean extra edge weight {extra.mean().item():.4f}")
    size = lambda m: sum(p.detach().abs().sum().item() for p in m.parameters())
    print("RESULT %.6g %.6g %.6g %.6g" % (size(encoder), size(structure), record["encoder"][-1], record["structure"][-1]))


if __name__ == "__main__":
    main()
