import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(61)
x = torch.randn(140, 5)
y = x.prod(1, keepdim=True).tanh() + x[:, :1]
model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 1))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
history, best, outputs = {"train": [], "val": []}, (float("inf"), None), []
for epoch in range(6):
    model.train()
    running = torch.zeros(())
    for i in range(0, 100, 20):
        loss = F.mse_loss(model(x[i:i + 20]), y[i:i + 20])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        running += loss.detach()
    model.eval()
    with torch.no_grad():
        pred = model(x[100:])
        val = F.mse_loss(pred, y[100:])
    outputs.append(pred)
    history["train"].append(running.item() / 5)
    history["val"].append(val)
    if val < best[0]:
        best = (val, {k: v.detach().clone() for k, v in model.state_dict().items()})
model.load_state_dict(best[1])
print("RESULT", f"{best[0].item():.6g}", f"{history['train'][-1]:.6g}", f"{torch.stack(outputs).mean().item():.6g}")
