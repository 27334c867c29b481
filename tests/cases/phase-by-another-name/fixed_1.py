import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_loaders():
    x = torch.randn(120, 3, 6, 6)
    y = (x.mean((1, 2, 3)) > 0).long()
    return {"training": DataLoader(TensorDataset(x[:96], y[:96]), batch_size=16, shuffle=True), "val": DataLoader(TensorDataset(x[96:], y[96:]), batch_size=24)}


def train_model(model, criterion, optimizer, scheduler, loaders, num_epochs):
    since, best = time.time(), 0.0
    for epoch in range(num_epochs):
        for phase in ["training", "val"]:
            model.train() if phase == "training" else model.eval()
            running_loss, hits, seen = 0.0, 0, 0
            for inputs, labels in loaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "training"):
                    outputs = model(inputs)
                    preds = outputs.argmax(1)
                    loss = criterion(outputs, labels)
                    if phase == "training":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * len(inputs)
                hits += (preds == labels).sum().item()
                seen += len(inputs)
            if phase == "training":
                scheduler.step()
            else:
                best = max(best, hits / seen)
    return best, running_loss / seen


torch.manual_seed(5)
model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 16, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
best, loss = train_model(model, nn.CrossEntropyLoss(), optimizer, scheduler, make_loaders(), 3)
print(f"RESULT {best:.4f} {loss:.5f}")
