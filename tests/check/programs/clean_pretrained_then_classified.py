"""A decoder that was trained, and looked at, before; the classifier's optimizer has its parameters by the way."""

import torch
import torch.nn.functional as F
from torch import nn


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(6, 3), nn.Linear(3, 6)

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Classifier(nn.Module):
    def __init__(self, coder):
        super().__init__()
        self.coder, self.head = coder, nn.Linear(3, 2)

    def forward(self, x):
        return self.head(self.coder.encoder(x))


coder = Coder()
optimizer = torch.optim.Adam(coder.parameters())
losses = []
for _ in range(10):
    x = torch.randn(4, 6)
    loss = F.mse_loss(coder(x), x)
    losses.append(loss.detach().numpy())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
x = torch.randn(4, 6)
tested = F.mse_loss(coder(x), x)
print(f"{tested:.3f}")

model = Classifier(coder)
optimizer = torch.optim.Adam(model.parameters())
for _ in range(10):
    loss = F.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 2, (4,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
