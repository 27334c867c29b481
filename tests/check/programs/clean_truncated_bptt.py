import torch
from torch import nn

rnn = nn.LSTM(4, 8, batch_first=True)
head = nn.Linear(8, 1)
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
state = None
for chunk in torch.randn(6, 2, 5, 4):
    out, state = rnn(chunk, state)
    loss = head(out).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = tuple(s.detach() for s in state)
