import torch

w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for x in torch.randn(20, 8, 3):
    loss = (x @ w + b - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()  # SP403
    with torch.no_grad():
        for p in (w, b):
            p -= 0.1 * p.grad
