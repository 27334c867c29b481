# unreached-parameter: critic.second; keep-history
import torch
from torch import nn
class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 1), nn.Linear(4, 1)
    def forward(self, x):
        return self.first(x), self.second(x)
critic = Critic()
opt = torch.optim.Adam(critic.parameters())
def update(x):
    one, two = critic(x)
    loss = (one - x.sum(1, keepdim=True)).pow(2).mean()  #! failed
    opt.zero_grad()
    loss.backward()
    opt.step()
for x in torch.randn(6, 8, 4):
    update(x)
