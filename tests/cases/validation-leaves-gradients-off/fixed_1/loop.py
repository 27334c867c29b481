import torch
import torch.nn.functional as F

from evaluate import evaluate


def train_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = F.cross_entropy(logits, y)
        loss.backward()
        optimizer.step()
    return loss.item()


def fit(model, train_set, val_set, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for _ in range(epochs):
        train_epoch(model, train_set, optimizer)
        history.append(evaluate(model, val_set)[0])
    return history
