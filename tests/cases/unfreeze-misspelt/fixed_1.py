import torch
from torch import nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 12), nn.ReLU())
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.body(x))


def prepare(model):
    for p in model.parameters():
        p.requires_grad = False
    for p in model.head.parameters():
        p.requires_grad = True
    return model


def finetune(model, x, y, epochs=3):
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
    for _ in range(epochs):
        for xb, yb in zip(x.split(20), y.split(20)):
            logits = model(xb)
            loss = F.cross_entropy(logits, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


torch.manual_seed(132)
x = torch.randn(80, 8)
model = prepare(Classifier())
print(f"RESULT {finetune(model, x, x[:, :4].argmax(1)):.6g}")
