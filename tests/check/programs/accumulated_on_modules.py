import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.more = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
        self.aux = 0.0

    def forward(self, x):
        probs = self.gate(x).softmax(-1)
        self.aux = self.aux + probs.pow(2).sum()
        return sum(layer(x) for layer in self.more) * probs


net = nn.Sequential(nn.Linear(3, 4), Layer(), Layer(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(20, 8, 3):
    loss = net(x).pow(2).mean() + 0.1 * sum(m.aux for m in net.modules() if isinstance(m, Layer))
    opt.zero_grad()
    loss.backward()  # SP105
    opt.step()
