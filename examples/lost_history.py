# Learns a filter that makes two signals line up, scored by their correlation.
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)


def correlation(a, b):
    a, b = a.detach().numpy(), b.numpy()
    scores = [np.corrcoef(p, q)[0, 1] for p, q in zip(a, b)]
    return torch.tensor(np.mean(scores))


smooth = nn.Conv1d(1, 1, kernel_size=9, padding=4)
optimizer = torch.optim.Adam(smooth.parameters(), lr=1e-2)

time = torch.linspace(0, 20, 200)
clean = torch.stack([torch.sin(time + phase) for phase in torch.rand(16) * 6])
noisy = clean + 0.5 * torch.randn_like(clean)

for step in range(50):
    filtered = smooth(noisy.unsqueeze(1)).squeeze(1)
    loss = 1 - correlation(filtered, clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step:2d}  loss {loss.item():.4f}")
