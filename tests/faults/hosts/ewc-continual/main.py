import torch
import torch.nn as nn
import torch.nn.functional as F

from ewc import Consolidation
from tasks import permuted_tasks

SEED, EPOCHS, BATCH = 55, 4, 24


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        hits = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return hits


def learn_task(model, optimizer, memory, x, y):
    ce_value = pen_value = 0.0
    for epoch in range(EPOCHS):
        for idx in torch.randperm(len(x)).split(BATCH):
            optimizer.zero_grad()
            ce = F.cross_entropy(model(x[idx]), y[idx])
            pen = memory.penalty(model)
            (ce + pen).backward()
            optimizer.step()
            ce_value, pen_value = ce.item(), pen.item()
    return ce_value, pen_value


def main():
    torch.manual_seed(SEED)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
    memory = Consolidation(strength=40.0)
    seen = []
    matrix = []
    for k, ((x, y), held_out) in enumerate(permuted_tasks(3, seed=SEED)):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.8)
        ce, pen = learn_task(model, optimizer, memory, x, y)
        memory.register(model, x)
        seen.append(held_out)
        matrix.append([accuracy(model, *t) for t in seen])
        print(f"task {k}: ce {ce:.4f} penalty {pen:.4f} | accuracies " + " ".join(f"{a:.2f}" for a in matrix[-1]))
    forgetting = sum(matrix[k][k] - matrix[-1][k] for k in range(len(seen) - 1)) / (len(seen) - 1)
    print(f"average forgetting {forgetting:.3f}")
    size = sum(p.abs().sum().item() for p in model.parameters())
    fisher_mass = sum(f.sum().item() for _, fs in memory.anchors for f in fs.values())
    print("RESULT %.6g %.6g %.6g %.6g" % (size, fisher_mass, ce, pen))


if __name__ == "__main__":
    main()
