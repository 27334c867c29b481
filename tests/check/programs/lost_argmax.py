import torch
from torch import nn

net = nn.Linear(6, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
    guess = net(x).argmax(1)
    loss = nn.functional.mse_loss(guess.float(), y.float())
    opt.zero_grad()
    loss.backward()  # SP301
    opt.step()
