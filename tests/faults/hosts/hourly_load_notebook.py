#!/usr/bin/env python
# coding: utf-8

# # Hourly load forecasting, stateful GRU
# second try, this time without shuffling the windows

# In[1]:


import numpy as np
import torch
from torch import nn

torch.manual_seed(11)
np.random.seed(11)


# In[2]:


hours = np.arange(24 * 16)
load = (
    1.0
    + 0.5 * np.sin(2 * np.pi * hours / 24)
    + 0.2 * np.sin(2 * np.pi * hours / (24 * 7))
    + 0.05 * np.random.randn(6, len(hours))
    + 0.1 * np.random.rand(6, 1)
)
load.shape


# In[3]:


x = torch.tensor(load, dtype=torch.float32).unsqueeze(-1)   # substations x hours x 1
mu, sd = x[:, : 24 * 12].mean(), x[:, : 24 * 12].std()
x = (x - mu) / sd
train, val = x[:, : 24 * 12], x[:, 24 * 12 :]
train.shape, val.shape


# In[4]:


class Forecaster(nn.Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, h=None):
        y, h = self.gru(x, h)
        return self.out(y), h


model = Forecaster()
sum(p.numel() for p in model.parameters())


# In[5]:


# sanity check of shapes
with torch.no_grad():
    y, h = model(train[:, :24])
assert y.shape == (6, 24, 1)
assert h.shape == (1, 6, 12)


# In[6]:


def windows(x, size=24):
    for s in range(0, x.shape[1] - size, size):
        yield x[:, s : s + size], x[:, s + 1 : s + size + 1]


def evaluate(model):
    model.eval()
    errs = []
    h = None
    with torch.no_grad():
        for xb, yb in windows(val):
            pred, h = model(xb, h)
            errs.append((pred - yb).abs().mean().item())
    model.train()
    return float(np.mean(errs))


evaluate(model)


# In[7]:


opt = torch.optim.Adam(model.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.6)
history = []
for epoch in range(3):
    h = None
    losses = []
    for x, y in windows(train):
        pred, h = model(x, h)
        h = h.detach()
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
    sched.step()
    history.append((np.mean(losses), evaluate(model)))
    print(epoch, "train mse %.4f  val mae %.4f" % history[-1])


# In[8]:


# free-running forecast for two days, warm start on the last training day
with torch.no_grad():
    y, h = model(train[:, -24:])
    y = y[:, -1:]
    preds = []
    for _ in range(48):
        preds.append(y)
        y, h = model(y, h)
    preds = torch.cat(preds, 1)
err = (preds - val[:, :48]).abs().mean().item()
print("free-running mae %.4f" % (err * sd.item()))


# In[9]:


x = sum(p.detach().abs().sum().item() for p in model.parameters())
print("RESULT %.6g %.6g %.6g %.6g" % (x, history[-1][0], history[-1][1], err))
