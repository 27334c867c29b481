import torch
from torch import nn
import torch.nn.functional as F

PAD = 0


class Matcher(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.q, self.k, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)

    def forward(self, tokens):
        pad = tokens == PAD
        x = self.emb(tokens)
        att = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2), -1)
        att = att.masked_fill(pad.unsqueeze(1), 0.0)
        pooled = (att @ x).mean(1)
        return self.out(pooled)


def sentences(n, length=7):
    tokens = torch.randint(1, 20, (n, length))
    for row, keep in zip(tokens, torch.randint(3, length + 1, (n,))):
        row[keep:] = PAD
    return tokens, (tokens == 5).any(1).long()


torch.manual_seed(75)
tokens, labels = sentences(80)
model = Matcher()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
step = 0
while step < 12:
    for t, y in zip(tokens.split(20), labels.split(20)):
        loss = F.cross_entropy(model(t), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
print("RESULT %.6g" % loss.item())
