# accumulated-loss: total; item
import torch
w, b = torch.randn(4, 2, requires_grad=True), torch.zeros(2, requires_grad=True)
total = torch.zeros(())
for x in torch.randn(4, 6, 4):
    total = total + (x @ w + b).tanh().pow(2).mean()  #! built
    slopes = torch.autograd.grad(total, (w, b))  #! freed failed
    with torch.no_grad():
        for leaf, slope in zip((w, b), slopes):
            leaf -= 0.1 * slope
