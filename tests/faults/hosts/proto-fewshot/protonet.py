import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, d_in=8, d_out=6):
        super().__init__()
        self.fc1 = nn.Linear(d_in, 32)
        self.fc2 = nn.Linear(32, d_out)
        self.log_temp = nn.Parameter(torch.zeros(()))

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


def prototypes(enc, support):
    way, shot, d = support.shape
    z = enc(support.reshape(way * shot, d))
    return z.view(way, shot, -1).mean(1)


def episode_loss(enc, support, query, labels):
    protos = prototypes(enc, support)
    d2 = torch.cdist(enc(query), protos).pow(2)
    logits = -d2 * enc.log_temp.exp()
    acc = (logits.argmax(1) == labels).float().mean()
    return F.cross_entropy(logits, labels), acc.item()
