# repeated-backward: again; retain-graph recompute other
import torch, torch.nn as nn
torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), .1)
x = torch.randn(5, 3)
z = net(x).tanh()
start = z.detach().requires_grad_()
again = net(start).tanh()  #! built
def solve(gradient):
    y = gradient
    for _ in range(3):
        y = torch.autograd.grad(again, start, y)[0] + gradient  #! freed failed
    return y
z.register_hook(solve)
z.pow(2).mean().backward()
opt.step()
