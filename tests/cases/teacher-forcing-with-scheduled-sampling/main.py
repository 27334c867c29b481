import torch
from torch import nn
import torch.nn.functional as F


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True)
        self.cell = nn.GRUCell(dim, dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, src, tgt, forcing):
        _, h = self.encoder(self.embed(src))
        h, token, steps = h[0], tgt[:, 0], []
        for t in range(1, tgt.size(1)):
            h = self.cell(self.embed(token), h)
            logits = self.out(h)
            steps.append(logits)
            token = tgt[:, t] if torch.rand(()) < forcing else logits.argmax(-1)
        return torch.stack(steps, 1)


def evaluate(model, src, tgt):
    model.eval()
    with torch.no_grad():
        hit = (model(src, tgt, 0.0).argmax(-1) == tgt[:, 1:]).float().mean()
    model.train()
    return hit


torch.manual_seed(35)
model = Seq2Seq()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)
scores, window = [], []
for step in range(40):
    src = torch.randint(2, 12, (16, 5))
    tgt = torch.cat([torch.ones(16, 1, dtype=torch.long), src.flip(1)], 1)
    loss = F.cross_entropy(model(src, tgt, 1 - step / 40).flatten(0, 1), tgt[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    window = (window + [loss])[-5:]
    if step % 10 == 9:
        scheduler.step()
        scores.append(evaluate(model, src, tgt))
print(f"RESULT {sum(w.item() for w in window) / 5:.6g} {scores[-1].item():.6g}")
