import math

import torch
import torch.nn as nn

from model import RNNModel, batchify, get_batch

BPTT = 7


def repackage_hidden(h):
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def evaluate(model, criterion, data):
    model.eval()
    total = 0.0
    hidden = model.init_hidden(data.size(1))
    with torch.no_grad():
        for i in range(0, data.size(0) - 1, BPTT):
            x, y = get_batch(data, i, BPTT)
            output, hidden = model(x, hidden)
            hidden = repackage_hidden(hidden)
            total += len(x) * criterion(output, y).item()
    return total / (len(data) - 1)


def train(model, criterion, data, lr):
    model.train()
    total = 0.0
    hidden = model.init_hidden(data.size(1))
    for i in range(0, data.size(0) - 1, BPTT):
        x, y = get_batch(data, i, BPTT)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(x, hidden)
        loss = criterion(output, y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    return total


torch.manual_seed(1111)
tokens = torch.tensor([(i * i + 3 * i) % 11 for i in range(600)])
train_data, val_data = batchify(tokens[:480], 8), batchify(tokens[480:], 4)
model, criterion = RNNModel(11, 12, 16), nn.CrossEntropyLoss()
lr, best = 5.0, None
for epoch in range(4):
    train(model, criterion, train_data, lr)
    val = evaluate(model, criterion, val_data)
    if best is None or val < best:
        best = val
    else:
        lr /= 4.0
print(f"RESULT {best:.5f} {math.exp(best):.5f}")
