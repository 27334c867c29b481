# clean
import torch
from torch import nn
class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.target.load_state_dict(self.online.state_dict())
    def loss(self, s, r, s2):
        with torch.no_grad():
            y = r + 0.9 * self.target(s2).max(-1).values
        return (self.online(s)[:, 0] - y).pow(2).mean()
q = Q()
opt = torch.optim.Adam(q.parameters())
for i in range(10):
    l = q.loss(torch.randn(4, 3), torch.randn(4), torch.randn(4, 3))
    opt.zero_grad(); l.backward(); opt.step()
    with torch.no_grad():
        for a, b in zip(q.target.parameters(), q.online.parameters()):
            a.lerp_(b, 0.1)
