"""
Learning-to-rank (ListNet + pairwise hinge) with a learning rate chosen by a range test.
"""
import copy
import math
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.context = nn.MultiheadAttention(hidden, 2, batch_first=True)
        self.score = nn.Linear(hidden, 1, bias=False)   # scores are only compared within a list

    def forward(self, docs):
        h = torch.relu(self.hidden(docs))
        attended, _ = self.context(h, h, h, need_weights=False)
        return self.score(h + attended).squeeze(-1)


def queries(n, list_size=6, features=8, seed=0):
    g = torch.Generator().manual_seed(seed)
    taste = torch.linspace(-1, 1, features)
    for _ in range(n):
        docs = torch.randn(12, list_size, features, generator=g)
        utility = docs @ taste + 0.3 * (docs[..., 0] * docs[..., 1]) + 0.2 * torch.randn(12, list_size, generator=g)
        yield docs, utility.argsort(-1).argsort(-1).float()


def ranking_loss(scores, grades):
    listnet = -(torch.softmax(grades, -1) * torch.log_softmax(scores, -1)).sum(-1).mean()
    diff = scores.unsqueeze(-1) - scores.unsqueeze(-2)
    should = torch.sign(grades.unsqueeze(-1) - grades.unsqueeze(-2))
    hinge = torch.relu(1 - diff * should)[should != 0].mean()
    return listnet + 0.5 * hinge


def ndcg(scores, grades):
    discount = 1 / torch.log2(torch.arange(scores.shape[-1]) + 2.0)
    gain = 2 ** grades - 1
    got = (gain.gather(-1, scores.argsort(-1, descending=True)) * discount).sum(-1)
    best = (gain.sort(-1, descending=True).values * discount).sum(-1)
    return (got / best).mean().item()


class LRFinder:
    def __init__(self, model, make_optimizer, loss_fn):
        self.model, self.make_optimizer, self.loss_fn = model, make_optimizer, loss_fn
        self.lrs, self.losses = [], []

    def range_test(self, batches, start=1e-4, end=1.0, num=14, beta=0.7, diverge=2.0):
        backup = copy.deepcopy(self.model.state_dict())
        optimizer = self.make_optimizer(self.model, start)
        factor = (end / start) ** (1 / (num - 1))
        average, best = 0.0, math.inf
        for i, (docs, grades) in enumerate(batches):
            optimizer.zero_grad()
            loss = self.loss_fn(self.model(docs), grades)
            loss.backward()
            optimizer.step()
            average = beta * average + (1 - beta) * loss.item()
            smooth = average / (1 - beta ** (i + 1))
            self.lrs.append(optimizer.param_groups[0]["lr"])
            self.losses.append(smooth)
            best = min(best, smooth)
            if smooth > diverge * best:
                break
            optimizer.param_groups[0]["lr"] *= factor
        self.model.load_state_dict(backup)
        self.model.zero_grad()
        return self

    def suggestion(self):
        slopes = [b - a for a, b in zip(self.losses, self.losses[1:])]
        return self.lrs[slopes.index(min(slopes))]


def adamw(model, lr):
    return torch.optim.AdamW(model.parameters(), lr=lr)


def main():
    torch.manual_seed(55)
    model = Scorer(8, 16)
    finder = LRFinder(model, adamw, ranking_loss).range_test(queries(14, seed=1))
    lr = finder.suggestion()
    for pair in zip(finder.lrs, finder.losses):
        print("  lr %.5f  smoothed loss %.4f" % pair)
    print("suggested", "%.5f" % lr)

    optimizer = adamw(model, lr)
    steps = 20
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, (s + 1) / 4) * (1 - s / steps))
    curve = []
    for docs, grades in queries(steps, seed=2):
        loss = ranking_loss(model(docs), grades)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
        curve.append(loss.item())
    model.eval()
    with torch.no_grad():
        quality = [ndcg(model(docs), grades) for docs, grades in queries(4, seed=3)]
    print("loss %.4f -> %.4f, ndcg %.4f" % (curve[0], curve[-1], sum(quality) / 4))
    total = sum(p.detach().abs().sum().item() for p in model.parameters())
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (total, lr, finder.losses[-1], curve[-1], sum(quality) / 4))


if __name__ == "__main__":
    main()
