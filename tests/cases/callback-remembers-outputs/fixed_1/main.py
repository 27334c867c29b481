import torch
from torch import nn

from callbacks import Recorder, Result


class Loop:
    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05)

    def step(self, i, x, y):
        output = self.model(x)
        loss = nn.functional.mse_loss(output, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return Result(i, loss, output)

    def run(self, x, y, steps):
        for i in range(steps):
            idx = torch.randint(len(x), (16,))
            result = self.step(i, x[idx], y[idx])
            for cb in self.callbacks:
                cb.on_step_end(result)


torch.manual_seed(93)
x = torch.randn(300, 8)
recorder = Recorder(every=40)
Loop(nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)), [recorder]).run(x, x[:, :1].sin(), 120)
print(f"RESULT {recorder.best():.6g}")
