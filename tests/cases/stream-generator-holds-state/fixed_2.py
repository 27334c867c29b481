"""One pass over a long recording, window by window."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 10, batch_first=True)
        self.readout = nn.Linear(10, 1)


def windows(signal, size):
    for i in range(0, signal.size(1) - size, size):
        yield signal[:, i:i + size, None], signal[:, i + 1:i + size + 1]


def losses(model, signal, size):
    h = torch.zeros(1, signal.size(0), 10)
    for x, y in windows(signal, size):
        out, h = model.gru(x, h.detach())
        yield (model.readout(out).squeeze(-1) - y).pow(2).mean()


def fit(model, signal, epochs=3, size=15):
    opt = torch.optim.RMSprop(model.parameters(), lr=0.005)
    history = []
    for _ in range(epochs):
        for loss in losses(model, signal, size):
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
    return history


torch.manual_seed(3)
t = torch.linspace(0, 25, 121)
signal = torch.stack([torch.sin(t), torch.cos(1.3 * t)])
history = fit(Model(), signal)
print("RESULT %.6g %.6g" % (history[0], history[-1]))
