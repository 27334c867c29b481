# carried-state: chain; detach
import torch
w = torch.randn(5, 3, requires_grad=True)
chain = torch.rand(8, 5)
def energy(v):
    return -(v @ w).exp().mean()
for x in torch.rand(4, 8, 5):
    chain = torch.sigmoid(torch.sigmoid(chain @ w) @ w.t())  #! built
    loss = energy(x) - energy(chain)
    slope, = torch.autograd.grad(loss, [w])  #! freed failed
    with torch.no_grad():
        for x, g in [(w, slope)]:
            x -= 0.1 * g
