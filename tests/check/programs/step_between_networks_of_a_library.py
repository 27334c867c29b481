"""Networks that a library makes, inside modules of one's own: whoever has a module's parameters has theirs."""

import timm
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = timm.create_model("resnet18", num_classes=1)

    def forward(self, image):
        return self.body(image)


painter, critic = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64)), Critic()
of_painter = torch.optim.Adam(painter.parameters())
of_critic = torch.optim.Adam(critic.parameters())
for _ in range(10):
    score = critic(painter(torch.randn(4, 8)).view(4, 1, 8, 8))
    of_critic.zero_grad()
    score.mean().backward(retain_graph=True)
    of_critic.step()
    of_painter.zero_grad()
    (-score.mean()).backward()  # SP201
    of_painter.step()
