"""Child-sum Tree-LSTM that learns to evaluate little boolean formulas, at the root and at every inner node."""
import random

import torch
import torch.nn as nn

torch.manual_seed(321)
random.seed(321)

LEAVES = ["T", "F", "a", "b"]            # a and b stand for True and False too
OPS = ["and", "or", "xor", "not"]
TRUTH = {"T": True, "F": False, "a": True, "b": False}


def grow(depth):
    """random formula as nested tuples: leaf = str, node = (op, child, ...)"""
    if depth == 0 or random.random() < 0.2:
        return random.choice(LEAVES)
    op = random.choice(OPS)
    return (op, grow(depth - 1)) if op == "not" else (op, grow(depth - 1), grow(depth - 1))


def truth(tree):
    if isinstance(tree, str):
        return TRUTH[tree]
    op, *kids = tree
    vals = [truth(k) for k in kids]
    return {"and": all, "or": any, "xor": lambda v: v[0] != v[1], "not": lambda v: not v[0]}[op](vals)


def count(tree):
    return 1 if isinstance(tree, str) else 1 + sum(map(count, tree[1:]))


class TreeLSTM(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.leaf = nn.Embedding(len(LEAVES), 2 * dim)
        self.op = nn.Embedding(len(OPS), dim)
        self.iou = nn.Linear(2 * dim, 3 * dim)
        self.forget = nn.Linear(2 * dim, dim)
        self.verdict = nn.Linear(dim, 1)

    def fresh_leaves(self):
        """(h, c) of every leaf symbol"""
        table = torch.tanh(self.leaf.weight)
        return {s: row.chunk(2) for s, row in zip(LEAVES, table)}

    def combine(self, op, children):
        x = self.op.weight[OPS.index(op)]
        h_sum = sum(h for h, _ in children)
        i, o, u = self.iou(torch.cat([x, h_sum])).chunk(3)
        c = torch.sigmoid(i) * torch.tanh(u)
        for h_k, c_k in children:
            c = c + torch.sigmoid(self.forget(torch.cat([x, h_k]))) * c_k
        return torch.sigmoid(o) * torch.tanh(c), c

    def forward(self, tree, leaves, visit):
        if isinstance(tree, str):
            return leaves[tree]
        op, *kids = tree
        state = self.combine(op, [self.forward(k, leaves, visit) for k in kids])
        visit(tree, self.verdict(state[0]))
        return state


def batch_loss(model, trees):
    leaves, logits, answers = model.fresh_leaves(), [], []

    def visit(tree, logit):
        logits.append(logit)
        answers.append(float(truth(tree)))

    for tree in trees:
        model(tree, leaves, visit)
    logits, answers = torch.cat(logits), torch.tensor(answers)
    right = ((logits > 0) == (answers > 0.5)).float().mean().item()
    return nn.functional.binary_cross_entropy_with_logits(logits, answers), right


def inner(depth):
    while True:
        tree = grow(depth)
        if not isinstance(tree, str):
            return tree


model = TreeLSTM()
opt = torch.optim.Adam(model.parameters(), lr=2e-2)
curve = []
for depth in (1, 2, 3):                  # easy formulas first
    for _ in range(9):
        trees = [inner(depth) for _ in range(6)]
        loss, right = batch_loss(model, trees)
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve.append(loss.item())
    print("depth %d: loss %.4f, right %.3f, nodes in last batch %d" % (depth, sum(curve[-3:]) / 3, right, sum(map(count, trees))))

with torch.no_grad():
    test_loss, test_right = batch_loss(model, [inner(3) for _ in range(15)])
size = sum(p.detach().abs().sum().item() for p in model.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (size, curve[-1], test_loss.item(), test_right))
