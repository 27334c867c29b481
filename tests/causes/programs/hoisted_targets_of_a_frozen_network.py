# hoisted-forward: targets["b"] targets["a"]; detach recompute
import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
second = nn.Linear(8, 8)


def both(image):
    first = features(image)
    return {"a": first.T @ first, "b": second(first).tanh().pow(2)}


targets = both(torch.randn(5, 6))
canvas = nn.Parameter(torch.zeros(5, 6))
adam = torch.optim.Adam([canvas], lr=0.1)
for step in range(4):
    now = both(canvas)
    loss = sum((now[name] - targets[name]).pow(2).mean() for name in targets)
    adam.zero_grad()
    loss.backward()  #! freed failed
    adam.step()
print("RESULT", canvas.norm().item())
