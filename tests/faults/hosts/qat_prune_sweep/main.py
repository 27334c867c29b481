import csv
import io
import sys

import torch
from torch import nn
import torch.nn.functional as F

from prune import density, prune_by_magnitude, target_sparsity
from quant import QLinear

T = 2.0   # distillation temperature

def data(n, g):
    x = torch.randn(n, 8, generator=g)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] > 0.3).long()
    return x, y


def train_teacher(g, steps=12):
    net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 4))
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for _ in range(steps):
        x, y = data(64, g)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.eval(), loss.item()


def compress(teacher, bits, sparsity, g, steps=9):
    net = nn.Sequential(QLinear(8, 24, bits), nn.ReLU(), QLinear(24, 4, bits))
    opt = torch.optim.Adam(net.parameters(), lr=2e-2)
    for step in range(steps):
        x, y = data(64, g)
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=1)
        logits = net(x)
        distil = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
        hard = F.cross_entropy(logits, y)
        loss = 0.7 * distil + 0.3 * hard
        opt.zero_grad()
        loss.backward()
        opt.step()
        prune_by_magnitude(net, target_sparsity(step, 2, steps - 3, sparsity))
        yield net, dict(bits=bits, sparsity=sparsity, step=step, loss=loss.item(), distil=distil.item(), density=density(net))


def accuracy(net, g):
    net.eval()
    with torch.no_grad():
        x, y = data(256, g)
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(128)
    weight = lambda net: sum(p.detach().abs().sum().item() for p in net.parameters())
    g = torch.Generator().manual_seed(129)
    teacher, teacher_loss = train_teacher(g)
    rows, summary = [], [weight(teacher), teacher_loss]
    for bits, sparsity in ((3, 0.0), (8, 0.0), (8, 0.6)):     # 3 bits pruned was hopeless
        for net, row in compress(teacher, bits, sparsity, g):
            rows.append(row)
        rows[-1]["accuracy"] = accuracy(net, g)
        summary += [weight(net), rows[-1]["loss"]]

    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, ["bits", "sparsity", "step", "loss", "distil", "density", "accuracy"], restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: round(v, 4) for k, v in r.items()} for r in rows if r["step"] % 4 == 0)
    sys.stdout.write(buffer.getvalue())
    print("RESULT", " ".join("%.6g" % v for v in summary))


if __name__ == "__main__":
    main()
