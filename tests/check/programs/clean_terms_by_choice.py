"""Terms that an option, or a later epoch, adds are not forgotten; and what is scattered is reached."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--sizes", action="store_true")
args = parser.parse_args()
body, kind, size, late = nn.Linear(8, 16), nn.Linear(16, 4), nn.Linear(16, 1), nn.Linear(16, 1)
optimizer = torch.optim.Adam([p for m in (body, kind, size, late) for p in m.parameters()])
for epoch in range(1000):
    top = torch.relu(body(torch.randn(4, 8))).topk(3, dim=-1)
    h = torch.zeros(4, 16).scatter(-1, top.indices, top.values)
    of_size = F.mse_loss(size(h), torch.rand(4, 1))
    of_late = late(h).square().mean()
    loss = F.cross_entropy(kind(h), torch.randint(0, 4, (4,)))
    if args.sizes:
        loss = loss + of_size
    if epoch > 500:
        loss = loss + of_late
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
