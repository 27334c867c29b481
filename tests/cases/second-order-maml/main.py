import torch
import torch.nn.functional as F


def net(x, w):
    return torch.tanh(x @ w["w1"] + w["b1"]) @ w["w2"]


torch.manual_seed(44)
slow = {"w1": 0.5 * torch.randn(2, 12), "b1": torch.zeros(12), "w2": 0.5 * torch.randn(12, 1)}
for p in slow.values():
    p.requires_grad_()
optimizer = torch.optim.Adam(slow.values(), lr=1e-2)
for it in range(10):
    meta = 0
    for _ in range(3):
        rule = torch.randn(2, 1)
        xs, xq = torch.randn(8, 2), torch.randn(8, 2)
        fast = dict(slow)
        for _ in range(2):
            inner = F.mse_loss(net(xs, fast), xs @ rule)
            grads = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
            fast = {k: w - 0.1 * g for (k, w), g in zip(fast.items(), grads)}
        meta = meta + F.mse_loss(net(xq, fast), xq @ rule) / 3
    optimizer.zero_grad()
    meta.backward()
    optimizer.step()
print(f"RESULT {meta.item():.6g}")
