import argparse

import torch
from torch import nn, optim

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--weight", type=float, default=0.3)
opts = parser.parse_args()


def domain(n, shift):
    x = torch.randn(n, 8)
    return x + shift, (x[:, :3].sum(1) > 0).long()


def confusion(logits):
    return (logits.sigmoid() - 0.5).pow(2).mean()


torch.manual_seed(25)
extractor = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 10))
classifier = nn.Linear(10, 2)
critic = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 1), nn.Flatten(0))
main_opt = optim.Adam([*extractor.parameters(), *classifier.parameters()], lr=2e-3)
critic_opt = optim.Adam(critic.parameters(), lr=2e-3)
domain_loss = nn.BCEWithLogitsLoss()
(xs, ys), (xt, _) = domain(100, 0.0), domain(100, 0.8)

for epoch in range(opts.epochs):
    for k in range(0, 100, 20):
        both = torch.cat([xs[k:k + 20], xt[k:k + 20]])
        domains = torch.cat([torch.zeros(20), torch.ones(20)])
        feats = extractor(both)
        if True:
            d_loss = domain_loss(critic(feats.detach()), domains)
            critic_opt.zero_grad()
            d_loss.backward()
            critic_opt.step()
        loss = nn.functional.cross_entropy(classifier(feats[:20]), ys[k:k + 20]) + opts.weight * confusion(critic(feats))
        main_opt.zero_grad()
        loss.backward()
        main_opt.step()
print("RESULT", f"{loss.item():.6g}", f"{d_loss.item():.6g}")
