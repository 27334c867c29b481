import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog and runs back home before the rain starts again "
chars = sorted(set(TEXT))
ids = torch.tensor([chars.index(c) for c in TEXT * 4])


class Stack(nn.Module):
    def __init__(self, vocab, dim=12):
        super().__init__()
        self.dim = dim
        self.emb = nn.Embedding(vocab, dim)
        self.cells = nn.ModuleDict({"l0": nn.LSTMCell(dim, dim), "l1": nn.LSTMCell(dim, dim)})
        self.out = nn.Linear(dim, vocab)

    def blank(self):
        return {name: (torch.zeros(1, self.dim), torch.zeros(1, self.dim)) for name in self.cells}

    def step(self, token, states):
        x = self.emb(token)
        for name, cell in self.cells.items():
            h, c = cell(x, states[name])
            states[name] = (h, c)
            x = h
        return self.out(x)


def train(epochs=2, chunk=20):
    model = Stack(len(chars))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(epochs):
        states = model.blank()
        for start in range(0, len(ids) - chunk - 1, chunk):
            loss = 0
            for t in range(start, start + chunk):
                logits = model.step(ids[t:t + 1], states)
                loss = loss + F.cross_entropy(logits, ids[t + 1:t + 2]) / chunk
            opt.zero_grad()
            loss.backward()
            opt.step()
        print("epoch", epoch, round(loss.item(), 4))
    return model, loss


torch.manual_seed(1)
model, loss = train()
print("RESULT", "%.6g" % loss.item(), "%.6g" % model.out.weight.abs().sum().item())
