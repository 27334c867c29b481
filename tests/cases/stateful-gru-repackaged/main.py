import torch
from torch import nn


def repackage(h):
    return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage(v) for v in h)


class Lm(nn.Module):
    def __init__(self, vocab=11, dim=12):
        super().__init__()
        self.emb, self.top, self.out = nn.Embedding(vocab, dim), nn.GRU(dim, dim), nn.Linear(dim, vocab)
        self.low = nn.LSTM(dim, dim, num_layers=2)

    def forward(self, x, state):
        low, top = state
        y, low = self.low(self.emb(x), low)
        y, top = self.top(y, top)
        return self.out(y), (low, top)

    def blank(self, batch):
        z = lambda n: torch.zeros(n, batch, 12)
        return (z(2), z(2)), z(1)


torch.manual_seed(50)
data = (torch.arange(121)[:, None] * torch.tensor([1, 2, 3])) % 11
model = Lm()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(2):
    state = model.blank(3)
    for i in range(0, 120, 12):
        state = repackage(state)
        logits, state = model(data[i:i + 12], state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), data[i + 1:i + 13].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"RESULT {loss.item():.6g}")
