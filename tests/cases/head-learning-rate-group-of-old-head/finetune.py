import torch
from torch import nn
import torch.nn.functional as F


class FineTuner:
    def __init__(self, model, lr=1e-3, head_lr=1e-2):
        self.model = model
        body = [p for n, p in model.named_parameters() if not n.startswith("classifier")]
        self.optimizer = torch.optim.AdamW([{"params": body, "lr": lr}, {"params": model.classifier.parameters(), "lr": head_lr}])
        self.last = None

    def adapt_to(self, classes):
        self.model.classifier = nn.Linear(self.model.classifier.in_features, classes)

    def fit(self, ids, y, epochs=4):
        for _ in range(epochs):
            for a, b in zip(ids.split(20), y.split(20)):
                loss = F.cross_entropy(self.model(a), b)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.last = loss.item()
