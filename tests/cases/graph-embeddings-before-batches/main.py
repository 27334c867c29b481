import torch
from torch import nn
import torch.nn.functional as F


class GCN(nn.Module):
    def __init__(self, n_feat, n_hid, n_out):
        super().__init__()
        self.w1 = nn.Linear(n_feat, n_hid)
        self.w2 = nn.Linear(n_hid, n_out)

    def forward(self, adj, x):
        x = F.relu(adj @ self.w1(x))
        return adj @ self.w2(x)


def normalise(adj):
    adj = adj + torch.eye(len(adj))
    d = adj.sum(1).rsqrt()
    return d[:, None] * adj * d[None]


def two_communities(n):
    label = torch.arange(n) % 2
    same = label[:, None] == label[None]
    edge = (torch.rand(n, n) < torch.where(same, 0.3, 0.05)).float().triu(1)
    return edge + edge.T


def score(z, pairs):
    return (z[pairs[:, 0]] * z[pairs[:, 1]]).sum(1)


def epoch(model, optimizer, adj, feats, edges, batch):
    z = model(adj, feats)
    total = 0.0
    for pos in edges.split(batch):
        neg = torch.randint(len(feats), pos.shape)
        logits = torch.cat([score(z, pos), score(z, neg)])
        target = torch.cat([torch.ones(len(pos)), torch.zeros(len(neg))])
        loss = F.binary_cross_entropy_with_logits(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def main():
    torch.manual_seed(10)
    raw = two_communities(40)
    feats = torch.randn(40, 7)
    model = GCN(7, 16, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    history = [epoch(model, optimizer, normalise(raw), feats, raw.nonzero(), 32) for _ in range(3)]
    print("RESULT", *(f"{h:.6g}" for h in history))


main()
