# shared-forward: h; combine-losses
import torch
from torch import nn
torch.manual_seed(2)
class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(4, 6), nn.ELU())
        self.heads = nn.ModuleList(nn.Linear(6, 1) for _ in range(3))
    def forward(self, x):
        h = self.stem(x)  #! built
        return [head(h) for head in self.heads]
net = Multi()
opt = torch.optim.AdamW(net.parameters())
for x in torch.randn(3, 9, 4):
    opt.zero_grad()
    outs = net(x)
    for k, o in enumerate(outs):
        loss = (o - k).pow(2).mean()
        loss.backward()  #! freed failed
    opt.step()
print("RESULT", loss.item())
