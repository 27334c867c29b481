import torch
from torch import nn
import torch.nn.functional as F


class GAT(nn.Module):
    def __init__(self, dim, width, out):
        super().__init__()
        self.proj, self.score = nn.Linear(dim, width), nn.Linear(2 * width, 1)
        self.out = nn.Linear(width, out)

    def attention(self, h, adj):
        n = len(h)
        pairs = torch.cat([h.unsqueeze(1).expand(-1, n, -1), h.unsqueeze(0).expand(n, -1, -1)], -1)
        e = torch.exp(F.leaky_relu(self.score(pairs).squeeze(-1)).clamp(max=10))
        e = e * adj
        e = e / e.sum(1, keepdim=True)
        return e

    def forward(self, x, adj):
        h = self.proj(x)
        return self.out(torch.relu(self.attention(h, adj) @ h))


torch.manual_seed(50)
n = 24
label = torch.arange(n) % 3
adj = ((label[:, None] == label) & (torch.rand(n, n) < 0.6)).float()
adj.fill_diagonal_(1)
x = torch.randn(n, 6) + F.one_hot(label, 6)
net = GAT(6, 12, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(10):
    loss = F.cross_entropy(net(x, adj), label)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"RESULT {loss.item():.6g}")
