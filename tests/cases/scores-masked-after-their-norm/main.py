import torch
from torch import nn

from attention import RegularizedAttention


class Reader(nn.Module):
    def __init__(self, vocab=25, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.attention = RegularizedAttention(width)
        self.out = nn.Linear(width, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        y, z_loss = self.attention(x)
        return self.out(x + y), z_loss


torch.manual_seed(70)
model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(40):
    ids = (torch.arange(10) + torch.randint(25, (12, 1))) % 25
    logits, z_loss = model(ids[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) + z_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"RESULT {loss.item():.5f}")
