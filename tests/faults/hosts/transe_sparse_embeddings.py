import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser(description="TransE on a made-up family graph")
parser.add_argument("--dim", type=int, default=12)
parser.add_argument("--epochs", type=int, default=6)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--margin", type=float, default=1.0)
parser.add_argument("--seed", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(args.seed)

PEOPLE, RELATIONS = 60, ["parent", "grandparent", "sibling"]
parent = {c: torch.randint(0, max(1, c), (1,)).item() for c in range(4, PEOPLE)}
triples = [(p, 0, c) for c, p in parent.items()]
triples += [(parent[p], 1, c) for c, p in parent.items() if p in parent]
triples += [(a, 2, b) for a, p in parent.items() for b, q in parent.items() if p == q and a < b]
triples = torch.tensor(triples)
known = set(map(tuple, triples.tolist()))


class TransE(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.entity = nn.Embedding(PEOPLE, dim, sparse=True)
        self.relation = nn.Embedding(len(RELATIONS), dim)
        self.scale = nn.Parameter(torch.ones(len(RELATIONS)))
        nn.init.uniform_(self.entity.weight, -0.5, 0.5)

    def distance(self, t):
        h, r, t_ = self.entity(t[:, 0]), self.relation(t[:, 1]), self.entity(t[:, 2])
        return (h + r - t_).norm(dim=1) * nn.functional.softplus(self.scale[t[:, 1]])

    @torch.no_grad()
    def project(self):
        w = self.entity.weight
        w.div_(w.norm(dim=1, keepdim=True).clamp_min(1.0))


def corrupt(batch):
    bad = batch.clone()
    side = torch.randint(0, 2, (len(batch),)) * 2
    bad[torch.arange(len(batch)), side] = torch.randint(0, PEOPLE, (len(batch),))
    return bad


model = TransE(args.dim)
opts = [
    torch.optim.SparseAdam(list(model.entity.parameters()), lr=5e-2),
    torch.optim.Adam([*model.relation.parameters(), model.scale], lr=2e-2),
]
curve = []
for epoch in range(args.epochs):
    epoch_loss, seen = 0.0, 0
    for batch in triples[torch.randperm(len(triples))].split(args.batch):
        good, bad = model.distance(batch), model.distance(corrupt(batch))
        loss = torch.relu(args.margin + good - bad).mean()
        for o in opts:
            o.zero_grad()
        loss.backward()
        for o in opts:
            o.step()
        model.project()
        epoch_loss += loss.item() * len(batch)
        seen += len(batch)
    curve.append(epoch_loss / seen)
    print(f"epoch {epoch}  margin loss {curve[-1]:.4f}")

with torch.no_grad():
    ranks = []
    for h, r, t in triples[::5].tolist():
        cand = torch.tensor([[h, r, e] for e in range(PEOPLE) if e == t or (h, r, e) not in known])
        d = model.distance(cand)
        ranks.append(1 + int((d < d[(cand[:, 2] == t).nonzero()[0, 0]]).sum()))
mrr = sum(1 / k for k in ranks) / len(ranks)
print("mean reciprocal rank %.3f" % mrr)
print("RESULT %.6g %.6g %.6g" % (curve[-1], mrr, model.entity.weight.abs().sum().item()))
