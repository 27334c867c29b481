"""A thread prepares batches and puts them into a queue; the main thread trains a sequence tagger with a stateful reader."""
import queue
import random
import threading
from dataclasses import dataclass, field

import torch
from torch import nn

VOCAB, TAGS, LENGTH = 12, 3, 9


@dataclass
class Batch:
    tokens: torch.Tensor
    tags: torch.Tensor
    number: int


@dataclass
class Meter:
    values: list = field(default_factory=list)

    def add(self, value):
        self.values.append(float(value))

    @property
    def recent(self):
        tail = self.values[-8:]
        return sum(tail) / len(tail)


def produce(out, count, seed):
    rng = random.Random(seed)
    for number in range(count):
        rows = [[rng.randrange(VOCAB) for _ in range(LENGTH)] for _ in range(6)]
        tags = [[(a + b) % TAGS for a, b in zip(row, [0, *row])] for row in rows]
        out.put(Batch(torch.tensor(rows), torch.tensor(tags), number))
    out.put(None)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 10)
        self.lstm = nn.LSTM(10, 14, batch_first=True)
        self.out = nn.Linear(14, TAGS)

    def forward(self, tokens, state=None):
        features, state = self.lstm(self.embed(tokens), state)
        return self.out(features), state


def main():
    torch.manual_seed(17)
    feed = queue.Queue(maxsize=4)
    threading.Thread(target=produce, args=(feed, 32, 17), daemon=True).start()
    model = Tagger()
    optim = torch.optim.RMSprop(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    meter, state = Meter(), None
    while (batch := feed.get()) is not None:
        scores, state = model(batch.tokens, state)
        state = tuple(s.detach() for s in state)
        loss = criterion(scores.flatten(0, 1), batch.tags.flatten())
        optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 1.0)
        optim.step()
        meter.add(loss)
        if batch.number % 10 == 9:
            print(batch.number, f"{meter.recent:.4f}")
    print("RESULT", f"{meter.recent:.6f}", f"{state[0].abs().mean().item():.6f}")


main()
