import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.pooler = nn.Linear(dim, dim)

    def forward(self, tokens, pool=False):
        x = self.layer(self.emb(tokens))
        return torch.tanh(self.pooler(x[:, 0])) if pool else x


torch.manual_seed(141)
encoder, tagger = Encoder(), nn.Linear(12, 3)
optimizer = torch.optim.AdamW([*encoder.parameters(), *tagger.parameters()], lr=3e-3)
tokens = torch.randint(20, (48, 6))
for epoch in range(3):
    for t in tokens.split(12):
        loss = F.cross_entropy(tagger(encoder(t)).flatten(0, 1), (t % 3).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"RESULT {loss.item():.6g}")
