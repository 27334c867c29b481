# unreached-parameter: m.context; keep-history
import torch, torch.nn as nn
torch.manual_seed(0)
class Hybrid(nn.Module):
    def __init__(self):
        super().__init__()
        self.context, self.head = nn.Linear(3, 4), nn.Linear(7, 1)
    def summary(self, x):
        return self.context(x).tanh()
    def forward(self, x):
        found = []
        for row in self.summary(x):
            found.append(row.tolist())  #! built failed
        return self.head(torch.cat([torch.tensor(found), x], 1))
m = Hybrid()
opt = torch.optim.SGD(m.parameters(), .1)
for it in range(6):
    x = torch.randn(5, 3)
    loss = (m(x) - x[:, :1]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
