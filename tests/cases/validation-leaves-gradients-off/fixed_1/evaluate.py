import torch
import torch.nn.functional as F


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = total = 0
    loss = 0.0
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        total += len(y)
    return loss / total, right / total
