import torch
import torch.nn.functional as F
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 20), nn.ReLU())
        self.cls = nn.Linear(20, 4)
        self.reg = nn.Linear(20, 1)

    def forward(self, x):
        f = self.body(x)
        return self.cls(f), self.reg(f)


def train_step(model, opt, x, label, value):
    c, r = model(x)
    loss_c = F.cross_entropy(c, label)
    loss_r = F.mse_loss(r.squeeze(-1), value)
    opt.zero_grad()
    torch.autograd.backward([loss_c, loss_r])
    opt.step()


model = TwoHeads()
opt = torch.optim.Adam(model.parameters())
for _ in range(3):
    train_step(model, opt, torch.randn(6, 10), torch.randint(0, 4, (6,)), torch.randn(6))
