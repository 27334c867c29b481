import torch
from torch import nn
import torch.nn.functional as F


class MemoryNet(nn.Module):
    def __init__(self, dim=8, slots=6):
        super().__init__()
        self.slots, self.dim = slots, dim
        self.key, self.value, self.read_out = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(2 * dim, dim)

    def blank(self):
        return torch.zeros(self.slots, self.dim)

    def forward(self, x, memory):
        w = F.softmax(self.key(x) @ memory.T, dim=-1)
        out = self.read_out(torch.cat([x, w @ memory], -1))
        erase = w.mean(0, keepdim=True).T
        memory = memory * (1 - erase) + erase * self.value(x).mean(0)
        return out, memory


def train(net, stream, epochs=2):
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for _ in range(epochs):
        memory = net.blank()
        for now, after in zip(stream, stream[1:]):
            out, memory = net(now, memory)
            loss = F.mse_loss(out, after)
            opt.zero_grad()
            loss.backward()
            opt.step()
    return loss.item()


torch.manual_seed(11)
base = torch.randn(5, 8)
stream = [torch.sin(base + 0.3 * t) for t in range(15)]
print(f"RESULT {train(MemoryNet(), stream):.6g}")
