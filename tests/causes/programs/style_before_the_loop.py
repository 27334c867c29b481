# hoisted-forward: style; recompute
import torch
from torch import nn
torch.manual_seed(0)
S, G, D = nn.Linear(2, 3), nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
og = torch.optim.SGD([*S.parameters(), *G.parameters()], .1)
od = torch.optim.SGD(D.parameters(), .1)
style = torch.tanh(S(torch.randn(6, 2)))  #! built
for real in torch.randn(3, 6, 4):
    fake = G(style)
    dl = D(fake.detach()).mean() - D(real).mean()
    od.zero_grad(); dl.backward(); od.step()
    gl = -D(fake).mean()
    og.zero_grad()
    gl.backward()  #! freed failed
    og.step()
print("RESULT", gl.item())
