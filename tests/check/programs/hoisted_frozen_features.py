import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
words = torch.arange(20)
table = nn.Embedding(20, 8)
proj = nn.Linear(8, 8)
head = nn.Linear(8, 5)
params = head.parameters()
opt = torch.optim.Adam(params, lr=0.01)

with torch.no_grad():
    encoded = torch.relu(proj(table(words)))

for epoch in range(5):
    for batch in torch.randperm(20).split(5):
        logits = head(encoded[batch])
        loss = F.cross_entropy(logits, batch % 5)
        opt.zero_grad()
        loss.backward()
        opt.step()
