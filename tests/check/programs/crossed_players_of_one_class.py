"""Two players of one class: both have their optimizer in `self.opt`."""

import torch
from torch import nn


class Player:
    def __init__(self, net, goal):
        self.net, self.goal = net, goal
        self.opt = torch.optim.Adam(net.parameters())

    def play(self, copies):
        self.opt.zero_grad()
        loss = self.goal(copies)
        loss.backward()  # SP106
        self.opt.step()


artist, judge = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), nn.Sequential(nn.Linear(2, 8), nn.Tanh())
players = [Player(judge, lambda c: judge(c).mean()), Player(artist, lambda c: -judge(c).mean())]
for _ in range(5):
    copies = artist(torch.randn(4, 3))
    for player in players:
        player.play(copies)
