# kind: combine-losses
# cause: shared-forward
# carrier: self.z
import torch
from torch import nn


class Two:
    def __init__(self):
        self.enc, self.dec, self.cls = nn.Linear(4, 3), nn.Linear(3, 4), nn.Linear(3, 2)
        params = [p for m in (self.enc, self.dec, self.cls) for p in m.parameters()]
        self.opt = torch.optim.SGD(params, lr=0.1)

    def backward_rec(self, x):
        loss = (self.dec(self.z) - x).square().mean()
        loss.backward()  #- @freed
        return loss  #+

    def backward_cls(self, y):
        loss = nn.functional.cross_entropy(self.cls(self.z), y)
        loss.backward()  #- @failed
        return loss  #+

    def step(self, x, y):
        self.z = torch.tanh(self.enc(x))  #@built
        self.opt.zero_grad()
        self.backward_rec(x)  #-
        self.backward_cls(y)  #-
        first_loss = self.backward_rec(x)  #+
        (first_loss + self.backward_cls(y)).backward()  #+
        self.opt.step()


torch.manual_seed(14)
t = Two()
for _ in range(4):
    t.step(torch.randn(6, 4), torch.randint(2, (6,)))
print("RESULT", t.enc.weight.sum().item(), t.cls.weight.sum().item())
