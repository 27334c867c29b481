import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, width=16, moods=3, aspects=4):
        super().__init__()
        self.words = nn.EmbeddingBag(60, width)
        self.mood = nn.Linear(width, moods)
        self.aspect = nn.Linear(width, aspects)

    def forward(self, tokens):
        pooled = torch.tanh(self.words(tokens))
        return self.mood(pooled), self.aspect(pooled)


def objective(tagger, tokens, mood, aspect):
    moods, aspects = tagger(tokens)
    first = nn.functional.cross_entropy(moods, mood)
    second = nn.functional.cross_entropy(aspects, aspect)
    return first


def main():
    torch.manual_seed(4)
    tagger = Tagger()
    optimizer = torch.optim.Adam(tagger.parameters(), lr=1e-2)
    for batch in range(12):
        tokens = torch.randint(0, 60, (32, 9))
        mood, aspect = tokens[:, 0] % 3, tokens[:, 1] % 4
        loss = objective(tagger, tokens, mood, aspect)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"RESULT {loss.item():.6g} {tagger.aspect.weight.abs().sum().item():.6g}")


main()
