# carried-state: h self.h; detach
import torch
from torch import nn
class Layer(nn.Linear):
    def forward(self, h):
        return super().forward(h / h.norm()).tanh()
    def learn(self, h):
        opt = torch.optim.SGD(self.parameters(), 0.1)
        for _ in range(2):
            loss = (self(h) - 1).pow(2).mean()
            opt.zero_grad()
            loss.backward()  #! freed failed
            opt.step()
        return self(h)
h = torch.randn(8, 4)
for layer in [Layer(4, 4), Layer(4, 4), Layer(4, 4)]:
    h = layer.learn(h)
