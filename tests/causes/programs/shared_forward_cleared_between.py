# shared-forward: h; retain-graph
import torch
from torch import nn

torch.manual_seed(0)
body, first, second = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 1)
parameters = [*body.parameters(), *first.parameters(), *second.parameters()]
opt = torch.optim.SGD(parameters, lr=0.1)


def gradient(loss):
    opt.zero_grad()
    loss.backward()  #! freed failed
    return torch.cat([torch.zeros(p.numel()) if p.grad is None else p.grad.flatten() for p in parameters])


for step in range(4):
    h = body(torch.randn(8, 4)).tanh()  #! built
    each = [gradient(loss) for loss in (first(h).pow(2).mean(), (second(h) - 1).pow(2).mean())]
    if torch.dot(*each) > 0:
        each[0] = each[0] - each[1]
    for p, part in zip(parameters, sum(each).split([p.numel() for p in parameters])):
        p.grad = part.view_as(p)
    opt.step()
print("RESULT", body.weight.norm().item())
