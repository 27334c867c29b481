# Sparse regression: a linear model with a smooth penalty on its weights.
import torch
from torch import nn

torch.manual_seed(0)

true_weights = torch.zeros(30)
true_weights[:4] = torch.tensor([2.0, -1.0, 0.5, 3.0])
x = torch.randn(400, 30)
y = x @ true_weights + 0.1 * torch.randn(400)

model = nn.Linear(30, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

# pseudo-Huber penalty: like L1, but smooth at zero
penalty = (torch.sqrt(model.weight**2 + 1e-4) - 1e-2).sum()

for epoch in range(20):
    for i in range(0, 400, 50):
        prediction = model(x[i : i + 50]).squeeze(1)
        loss = nn.functional.mse_loss(prediction, y[i : i + 50]) + 0.02 * penalty
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    nonzero = (model.weight.abs() > 0.05).sum().item()
    print(f"epoch {epoch:2d}  loss {loss.item():.4f}  weights in use {nonzero}")
