import queue
import threading

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn


def prefetch(source, depth=4):
    q, end = queue.Queue(depth), object()

    def work():
        for item in source:
            q.put(item)
        q.put(end)

    threading.Thread(target=work, daemon=True).start()
    while (item := q.get()) is not end:
        yield item


def batches(n, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        x = torch.randn(24, 6, generator=g)
        yield x, x[:, 0] - x[:, 1].abs()


def main():
    torch.manual_seed(85)
    model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
    averaged = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    swa = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    for epoch in range(8):
        for x, y in prefetch(batches(15, epoch)):
            optimizer.zero_grad()
            loss = nn.functional.huber_loss(model(x).squeeze(-1), y)
            loss.backward()
            optimizer.step()
        if epoch >= 4:
            averaged.update_parameters(model)
            swa.step()
    update_bn((x for x, _ in batches(15, 99)), averaged)
    averaged.eval()
    with torch.no_grad():
        test = sum(nn.functional.huber_loss(averaged(x).squeeze(-1), y).item() for x, y in batches(5, 123))
    print(f"RESULT {loss.item():.5f} {test:.5f}")


main()
