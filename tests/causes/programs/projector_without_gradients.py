# unreached-parameter: projector.p
import torch
from torch import nn
class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Linear(4, 2)
    def forward(self, z):
        return self.p(z)
enc, projector = nn.Linear(6, 4), Projector()
o1 = torch.optim.SGD(enc.parameters(), .1)
o2 = torch.optim.SGD(projector.parameters(), .1)
def similarity(a, b):
    return nn.functional.cosine_similarity(a, b).mean()
for i in range(10):
    x = torch.randn(6, 6)
    a, b = enc(x), enc(x + 0.1 * torch.randn_like(x))
    with torch.no_grad():  #! built failed
        pa, pb = projector(a), projector(b)  #! built failed
    loss = -similarity(a, b) + similarity(pa, pb)
    o1.zero_grad(); o2.zero_grad()
    loss.backward()
    o1.step(); o2.step()  #! failed
