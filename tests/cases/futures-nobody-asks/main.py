from concurrent.futures import ThreadPoolExecutor, wait

import torch
from torch import nn


class StreamLearner:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.cell = nn.GRUCell(3, 10)
        self.head = nn.Linear(10, 1)
        self.optimizer = torch.optim.SGD([*self.cell.parameters(), *self.head.parameters()], lr=0.05)
        self.state = torch.zeros(8, 10)
        self.updates = 0
        self.chunks = torch.randn(12, 8, 3, generator=g)

    def update(self, t):
        x = self.chunks[t]
        self.state = self.cell(x, self.state)
        loss = (self.head(self.state).squeeze(-1) - x.sum(-1)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.updates += 1
        return loss.item()


def main():
    torch.manual_seed(1)
    learners = [StreamLearner(s) for s in range(2)]
    with ThreadPoolExecutor(max_workers=1) as pool:
        for t in range(12):
            wait([pool.submit(learner.update, t) for learner in learners])
    print("RESULT", *(learner.updates for learner in learners))


main()
