import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(102)


def grad_report(model):
    norms = {name: p.grad.norm().item() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return norms


model = nn.Sequential(nn.Linear(7, 24), nn.SiLU(), nn.Linear(24, 7))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
clean = torch.randn(140, 7).cumsum(1)
reports = []
for epoch in range(3):
    for i in range(0, 140, 20):
        batch = clean[i:i + 20]
        noisy = batch + 0.3 * torch.randn_like(batch)
        loss = F.mse_loss(model(noisy), batch)
        loss.backward()
        reports.append(grad_report(model))
        optimizer.step()
print("RESULT", f"{loss.item():.6g}", f"{model[0].weight.abs().sum().item():.6g}", len(reports))
