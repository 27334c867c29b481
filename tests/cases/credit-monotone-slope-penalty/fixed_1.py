import argparse
import copy
import json
import logging
from collections import deque

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("scorecard")

COLUMNS = ["income", "age", "utilisation", "delinquencies", "tenure", "inquiries"]
DIRECTION = {"income": -1, "utilisation": +1, "delinquencies": +1, "tenure": -1}


def portfolio(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(COLUMNS))).astype(np.float32)
    z = -0.8 * X[:, 0] + 0.9 * X[:, 2] + 0.7 * np.maximum(X[:, 3], 0) - 0.3 * X[:, 4] + 0.5 * X[:, 5] * X[:, 1]
    z += 1.2 * np.sin(2.5 * X[:, 2]) * (np.abs(X[:, 0]) < 0.5)
    y = rng.random(n) < 1 / (1 + np.exp(-z))
    return torch.from_numpy(X), torch.from_numpy(y.astype(np.float32))


class ScoreNet(nn.Module):
    def __init__(self, n_in, width=32, depth=2):
        super().__init__()
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(n_in, width), nn.Tanh()]
            n_in = width
        self.net = nn.Sequential(*layers, nn.Linear(n_in, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class MonotonePenalty:
    """Penalises scores that move the wrong way, at points spread between pairs of applicants."""

    def __init__(self, weight, margin=0.02):
        self.weight, self.margin = weight, margin
        self.sign = torch.tensor([float(DIRECTION.get(c, 0)) for c in COLUMNS])
        self.recent = deque(maxlen=20)

    def __call__(self, model, x):
        t = torch.rand(len(x), 1)
        points = (t * x + (1 - t) * x[torch.randperm(len(x))]).requires_grad_()
        slope, = torch.autograd.grad(model(points).sum(), points, create_graph=True)
        wrong = torch.relu(self.margin - slope * self.sign) * self.sign.abs()
        value = wrong.pow(2).sum(1).mean()
        self.recent.append(value.item())
        return self.weight * value


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.bad, self.best, self.state = patience, 0, float("inf"), None

    def __call__(self, score, model):
        if score < self.best - 1e-4:
            self.best, self.bad, self.state = score, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad > self.patience


def evaluate(model, x, y, penalty):
    model.eval()
    with torch.no_grad():
        bce = nn.functional.binary_cross_entropy_with_logits(model(x), y).item()
    grid = x.clone().requires_grad_()
    g = torch.autograd.grad(model(grid).sum(), grid)[0]
    wrong = ((g * penalty.sign) < 0)[:, penalty.sign != 0].float().mean().item()
    return bce, wrong


def main():
    ap = argparse.ArgumentParser(description="monotone credit scorecard")
    ap.add_argument("--mono", type=float, default=4.0)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--patience", type=int, default=4)
    ap.add_argument("--lr", type=float, default=8e-3)
    ap.add_argument("--weight-decay", type=float, default=1e-4)
    ap.add_argument("--seed", type=int, default=13)
    cfg = ap.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
    logger.info(json.dumps(vars(cfg)))

    torch.manual_seed(cfg.seed)
    train, valid = portfolio(512, cfg.seed), portfolio(256, cfg.seed + 1)
    loader = DataLoader(TensorDataset(*train), batch_size=64, shuffle=True)
    model = ScoreNet(len(COLUMNS))
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    penalty, stop = MonotonePenalty(cfg.mono), EarlyStopping(cfg.patience)
    for epoch in range(cfg.epochs):
        model.train()
        for x, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(x), y) + penalty(model, x)
            opt.zero_grad()
            loss.backward()
            opt.step()
        bce, wrong = evaluate(model, *valid, penalty)
        logger.info("epoch %2d valid bce %.4f wrong-way %.3f penalty %.4f", epoch, bce, wrong, np.mean(penalty.recent))
        if stop(bce, model):
            break
    model.load_state_dict(stop.state)
    bce, wrong = evaluate(model, *valid, penalty)
    print(f"RESULT {bce:.6g} {wrong:.6g}")


if __name__ == "__main__":
    main()
