import torch
import torch.nn.functional as F

w = torch.randn(3, 1, requires_grad=True)
meta = torch.optim.Adam([w], lr=1e-2)
for _ in range(10):
    meta.zero_grad()
    total = 0.0
    for task in range(3):
        x, y = torch.randn(5, 3), torch.randn(5, 1)
        inner = F.mse_loss(x @ w, y)
        (g,) = torch.autograd.grad(inner, w, create_graph=True)
        fast = w - 0.1 * g
        total = total + F.mse_loss(x @ fast, y)
    total.backward()
    meta.step()
