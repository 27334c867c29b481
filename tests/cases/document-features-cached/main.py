import random

import torch
from torch import nn
import torch.nn.functional as F

from encoder import DocEncoder


class Ranker(nn.Module):
    def __init__(self, docs, vocab):
        super().__init__()
        self.encoder = DocEncoder(docs, vocab)
        self.query = nn.Embedding(6, 8)

    def forward(self, query, doc_ids):
        vectors = torch.stack([self.encoder(d) for d in doc_ids])
        return vectors @ self.query.weight[query]


def main():
    torch.manual_seed(29)
    rng = random.Random(4)
    docs = [torch.randint(30, (7,)) for _ in range(20)]
    model = Ranker(docs, 30)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for step in range(30):
        query, candidates = step % 6, rng.sample(range(20), 4)
        scores = model(query, candidates)
        loss = F.cross_entropy(scores.unsqueeze(0), torch.tensor([0]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("RESULT", f"{loss.item():.6g}", f"{model.query.weight.abs().sum().item():.6g}")


if __name__ == "__main__":
    main()
