import logging
import sys

import torch
import torch.nn.functional as F

from interactions import Interactions
from towers import ItemIndex, Tower

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("two-tower")

EPOCHS, BATCH, NEGATIVES, TEMPERATURE = 4, 84, 4, 0.2


class Recommender:
    def __init__(self, data):
        self.data = data
        self.user_tower = Tower(len(data.user_features), 3)
        self.item_tower = Tower(len(data.item_features), 3)
        self.index = ItemIndex(self.item_tower, data.item_features)
        self.optimizers = [
            torch.optim.Adagrad(self.user_tower.parameters(), lr=0.08),
            torch.optim.Adagrad(self.item_tower.parameters(), lr=0.08),
        ]

    def loss(self, users, items):
        d = self.data
        u = self.user_tower(users, d.user_features)
        pos = self.item_tower(items, d.item_features)
        hard_ids = self.index.hardest(u, d.clicked[users], NEGATIVES)
        neg = self.item_tower(hard_ids.flatten(), d.item_features).view(len(users), NEGATIVES, -1)

        in_batch = u @ pos.T / TEMPERATURE
        also_clicked = d.clicked[users][:, items] & ~torch.eye(len(users), dtype=torch.bool)
        in_batch = in_batch.masked_fill(also_clicked, -1e9)
        hard = (u.unsqueeze(1) * neg).sum(-1) / TEMPERATURE
        return F.cross_entropy(torch.cat([in_batch, hard], dim=1), torch.arange(len(users)))

    def fit_epoch(self):
        self.index.refresh()
        total, count = 0.0, 0
        for users, items in self.data.epoch(BATCH):
            loss = self.loss(users, items)
            for opt in self.optimizers:
                opt.zero_grad()
            loss.backward()
            for opt in self.optimizers:
                opt.step()
            total += loss.item() * len(users)
            count += len(users)
        return total / count

    @torch.no_grad()
    def recall(self, k=10):
        self.index.refresh()
        self.user_tower.eval()
        u = self.user_tower(torch.arange(len(self.data.user_features)), self.data.user_features)
        self.user_tower.train()
        top = self.index.hardest(u, self.data.clicked, k)
        return (top == self.data.heldout[:, None]).any(1).float().mean().item()


def main():
    torch.manual_seed(90)
    model = Recommender(Interactions(seed=9))
    for epoch in range(EPOCHS):
        loss = model.fit_epoch()
        log.info("epoch %d loss %.4f recall@10 %.3f (index v%d)", epoch, loss, model.recall(), model.index.version)
    sums = [sum(p.abs().sum().item() for p in t.parameters()) for t in (model.user_tower, model.item_tower)]
    print("RESULT %.6g %.6g %.6g %.6g" % (*sums, loss, model.index.vectors.abs().sum().item()))


if __name__ == "__main__":
    main()
