import argparse

import torch
import torch.nn.functional as F


def normalise(adj):
    d = adj.sum(1).clamp_min(1e-6).rsqrt()
    return d[:, None] * adj * d


class Attack:
    def __init__(self, adj, feats, labels, weight):
        self.adj, self.feats, self.labels, self.weight = adj, feats, labels, weight

    def loss(self, changes):
        sym = (changes + changes.t()).clamp(0, 1)
        poisoned = self.adj + sym * (1 - 2 * self.adj)
        return F.cross_entropy(normalise(poisoned + torch.eye(len(poisoned))) @ self.feats @ self.weight, self.labels)

    def run(self, budget):
        changes = torch.zeros_like(self.adj, requires_grad=True)
        for _ in range(budget):
            attack_loss = self.loss(changes)
            grad = torch.autograd.grad(attack_loss, changes, retain_graph=True)[0]
            with torch.no_grad():
                score = (grad + grad.t()) * (1 - 2 * self.adj) * (changes == 0)
                changes.view(-1)[score.triu(1).argmax()] = 1.0
        return changes, attack_loss.item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--budget", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(96)
    upper = (torch.rand(14, 14) < 0.25).float().triu(1)
    attack = Attack(upper + upper.t(), torch.randn(14, 5), torch.randint(3, (14,)), torch.randn(5, 3))
    changes, loss = attack.run(args.budget)
    print(f"RESULT {loss:.6g} {changes.sum().item():.4g}")
