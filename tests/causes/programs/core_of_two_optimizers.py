# crossed-networks: z; reorder recompute
import torch
from torch import nn
torch.manual_seed(2)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = nn.Linear(4, 6); self.p = nn.Linear(6, 2); self.v = nn.Linear(6, 1)
m = M()
op = torch.optim.SGD([*m.core.parameters(), *m.p.parameters()], .1)
ov = torch.optim.SGD([*m.core.parameters(), *m.v.parameters()], .1)
def train(x):
    z = torch.sigmoid(m.core(x))  #! built
    lp = m.p(z).logsumexp(1).mean()
    lv = m.v(z).pow(2).mean()
    op.zero_grad(); lp.backward()  #! freed
    op.step()
    ov.zero_grad(); lv.backward()  #! failed
    ov.step()
    return lv
for _ in range(3): r = train(torch.randn(5, 4))
print("RESULT", r.item())
