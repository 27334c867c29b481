from functools import lru_cache

import torch
from torch import nn
import torch.nn.functional as F

TITLES = ["red shoe", "blue shoe", "red hat", "green coat", "blue coat", "old hat", "new coat", "green shoe"]
CHARS = {c: i for i, c in enumerate(sorted(set("".join(TITLES))))}


class TextEncoder(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.chars = nn.Embedding(len(CHARS), dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, ids):
        return self.rnn(self.chars(ids))[1].squeeze(0)


torch.manual_seed(39)
encoder = TextEncoder()
users = nn.Embedding(6, 12)
optimizer = torch.optim.Adam([*encoder.parameters(), *users.parameters()], lr=5e-3)


@lru_cache(maxsize=None)
def embed(title):
    ids = torch.tensor([[CHARS[c] for c in title]])
    return encoder(ids).squeeze(0)


def interactions(n):
    for _ in range(n):
        user = torch.randint(6, ())
        titles = [TITLES[i] for i in torch.randint(len(TITLES), (3,))]
        clicked = torch.tensor([float(len(t) % 2 == user % 2) for t in titles])
        yield user, titles, clicked


for user, titles, clicked in interactions(40):
    items = torch.stack([embed(t) for t in titles])
    loss = F.binary_cross_entropy_with_logits(items @ users(user), clicked)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.6g} {encoder.chars.weight.detach().norm():.6g}")
