import torch
from torch import nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self, vocab, tags, dim=10):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(vocab, dim), nn.GRU(dim, dim, bidirectional=True)
        self.out = nn.Linear(2 * dim, tags)

    def forward(self, words):
        y, _ = self.rnn(self.emb(words))
        return self.out(y)


def corpus(n):
    for _ in range(n):
        words = torch.randint(15, (torch.randint(4, 9, (1,)).item(),))
        yield words, words % 3


def run(model, sentences, epochs=3, batch=6):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        for i in range(0, len(sentences), batch):
            optimizer.zero_grad()
            loss = batch_loss(model, sentences[i:i + batch])
            loss.backward()
            optimizer.step()
    return loss


def batch_loss(model, sentences):
    losses = [F.cross_entropy(model(words), tags) for words, tags in sentences]
    if len(losses) > 1:
        loss = torch.tensor(losses).mean()
    else:
        loss = losses[0]
    return loss


torch.manual_seed(80)
loss = run(Tagger(15, 3), list(corpus(36)))
print("RESULT", f"{loss.item():.6g}")
