import torch
from torch import nn
import torch.nn.functional as F

from engine import optimise


class Corrector(nn.Module):
    def __init__(self, vocab=16, dim=12):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(vocab, dim), nn.GRU(dim, dim // 2, bidirectional=True, batch_first=True)
        self.detect, self.correct = nn.Linear(dim, 1), nn.Linear(dim, vocab)

    def forward(self, tokens):
        x = self.emb(tokens)
        h, _ = self.rnn(x)
        p = self.detect(h).sigmoid()
        return p.squeeze(-1), self.correct(p * h + (1 - p) * x)


torch.manual_seed(182)
model = Corrector()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(15):
    clean = torch.randint(1, 16, (8, 6))
    typo = torch.rand(8, 6) < 0.15
    noisy = torch.where(typo, torch.randint(1, 16, (8, 6)), clean)
    p, logits = model(noisy)
    loss = 0.8 * F.cross_entropy(logits.flatten(0, 1), clean.flatten()) + 0.2 * F.binary_cross_entropy(p, typo.float())
    last = optimise(loss, optimizer)
print(f"RESULT {last:.6g}")
