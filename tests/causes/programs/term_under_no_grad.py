# lost-history: orth g
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(5, 5)
    def forward(self, x):
        return self.a(x)
    @torch.inference_mode(False)
    def nothing(self): pass
def orthogonality(z):
    with torch.no_grad():  #! built failed
        g = z.T @ z  #! built failed
        return (g - torch.eye(g.shape[0])).pow(2).mean()  #! built failed
net = Net()
opt = torch.optim.SGD(net.parameters(), 1e-2)
class Objective:
    def __init__(self): self.weights = (1.0, 0.5)
    def __call__(self, z, x):
        losses = [(z - x).abs().mean()]
        orth = orthogonality(z)
        losses.append(orth)
        return sum(w * l for w, l in zip(self.weights, losses))
crit = Objective()
for _ in range(12):
    x = torch.randn(7, 5)
    total = crit(net(x), x)
    opt.zero_grad()
    total.backward()
    opt.step()
