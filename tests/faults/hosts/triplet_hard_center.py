"""Metric learning: batch-hard triplets plus a center loss.

The centers have an optimizer of their own, as in the center loss paper; the embedding network is
trained with Adam.
"""
import argparse
import random

import torch
import torch.nn as nn


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", default=6, type=int)
    parser.add_argument("--per_class", default=20, type=int)
    parser.add_argument("--P", default=4, type=int, help="classes per batch")
    parser.add_argument("--K", default=5, type=int, help="samples per class")
    parser.add_argument("--margin", default=0.4, type=float)
    parser.add_argument("--center_weight", default=0.05, type=float)
    parser.add_argument("--steps", default=20, type=int)
    parser.add_argument("--seed", default=1234, type=int)
    return parser.parse_args()


def pairwise_distance(a, b):
    d2 = a.pow(2).sum(1)[:, None] + b.pow(2).sum(1)[None, :] - 2 * a @ b.t()
    return d2.clamp(min=1e-8).sqrt()


class BatchHardTriplet(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def mine(self, emb, labels):
        with torch.no_grad():
            dist = pairwise_distance(emb, emb)
            same = labels[:, None] == labels[None, :]
            hardest_pos = (dist * same).argmax(1)
            hardest_neg = (dist + 1e6 * same).argmin(1)
        return hardest_pos, hardest_neg

    def forward(self, emb, labels):
        pos, neg = self.mine(emb, labels)
        d_ap = (emb - emb[pos]).pow(2).sum(1).clamp(min=1e-8).sqrt()
        d_an = (emb - emb[neg]).pow(2).sum(1).clamp(min=1e-8).sqrt()
        loss = nn.functional.softplus(d_ap - d_an + self.margin).mean()
        return loss, (d_an > d_ap).float().mean().item()


class CenterLoss(nn.Module):
    def __init__(self, classes, dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(classes, dim) * 0.1)

    def forward(self, emb, labels):
        return 0.5 * (emb - self.centers[labels]).pow(2).sum(1).mean()


class PKSampler:
    def __init__(self, labels, P, K):
        self.P, self.K = P, K
        self.by_class = {}
        for i, c in enumerate(labels.tolist()):
            self.by_class.setdefault(c, []).append(i)

    def __iter__(self):
        while True:
            chosen = random.sample(sorted(self.by_class), self.P)
            yield [i for c in chosen for i in random.sample(self.by_class[c], self.K)]


@torch.no_grad()
def recall_at_1(net, x, labels):
    net.eval()
    d = pairwise_distance(net(x), net(x))
    d.fill_diagonal_(float("inf"))
    hit = (labels[d.argmin(1)] == labels).float().mean().item()
    net.train()
    return hit


def main():
    args = get_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    labels = torch.arange(args.classes).repeat_interleave(args.per_class)
    x = torch.randn(args.classes, 14)[labels] + 1.1 * torch.randn(len(labels), 14)

    net = nn.Sequential(nn.Linear(14, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))
    triplet, center = BatchHardTriplet(args.margin), CenterLoss(args.classes, 8)
    opt_net = torch.optim.Adam(net.parameters(), lr=1e-2)
    opt_center = torch.optim.SGD(center.parameters(), lr=0.3)

    meters = {"triplet": 0.0, "center": 0.0, "valid": 0.0}
    for step, rows in enumerate(PKSampler(labels, args.P, args.K)):
        if step == args.steps:
            break
        emb = net(x[rows])
        loss_t, valid = triplet(emb, labels[rows])
        loss_c = center(emb, labels[rows])
        loss = loss_t + args.center_weight * loss_c

        opt_net.zero_grad()
        opt_center.zero_grad()
        loss.backward()
        # undo the weight for the centers so that it does not change their learning rate
        for p in center.parameters():
            p.grad.mul_(1.0 / args.center_weight)
        opt_net.step()
        opt_center.step()

        for name, value in (("triplet", loss_t.item()), ("center", loss_c.item()), ("valid", valid)):
            meters[name] = value if step == 0 else 0.8 * meters[name] + 0.2 * value
        if (step + 1) % 5 == 0:
            print("[%02d/%d] " % (step + 1, args.steps) + ", ".join("%s %.4f" % kv for kv in meters.items()))

    recall = recall_at_1(net, x, labels)
    print("recall@1 %.3f" % recall)
    print("RESULT %.6g %.6g %.6g %.6g" % (
        sum(p.abs().sum().item() for p in net.parameters()), center.centers.abs().sum().item(), meters["triplet"], recall))


if __name__ == "__main__":
    main()
