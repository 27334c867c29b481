import torch
import torch.nn.functional as F


def evaluate(model, loader):
    model.eval()
    torch.set_grad_enabled(False)
    right = total = 0
    loss = 0.0
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        total += len(y)
    torch.set_grad_enabled(True)
    return loss / total, right / total
