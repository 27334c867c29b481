import torch
from torch import nn

from probe import GradientProbe


class Loop:
    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05)

    def call(self, event, **kw):
        for cb in self.callbacks:
            getattr(cb, event)(**kw)

    def step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        self.call("before_backward", loss=loss)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(180)
model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 1))
probe = GradientProbe(model, every=8)
loop = Loop(model, [probe])
for _ in range(20):
    x = torch.randn(16, 4)
    last = loop.step(x, x[:, :1] ** 2)
print(f"RESULT {last:.6g} {len(probe.norms)}")
