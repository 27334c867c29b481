# lost-history: logits batch outs
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(4, 3)
    def forward(self, batch):
        logits = self.f(batch["x"])
        return {"logits": logits, "prob": logits.softmax(-1)}
def to_cpu(d):
    return {k: v.detach().cpu() for k, v in d.items()}  #! built
net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    batch = {"x": torch.randn(6, 4), "y": torch.randint(0, 3, (6,))}
    outs = to_cpu(net(batch))  #! built
    ce = nn.functional.cross_entropy(outs["logits"], batch["y"])
    opt.zero_grad()
    ce.backward()  #! failed
    opt.step()
