import torch
import torch.nn as nn


class Memory:
    def __init__(self, width):
        self.width = width
        self.cell = nn.LSTMCell(width, width)
        self.read = nn.Linear(width, 1)
        self.optim = torch.optim.SGD([*self.cell.parameters(), *self.read.parameters()], lr=0.05)
        self.hidden = None

    def start(self, batch):
        zero = torch.zeros(batch, self.width)
        self.hidden = (zero, zero.clone())

    def learn(self, x, y):
        self.hidden = self.cell(x, self.hidden)
        loss = (self.read(self.hidden[0]).squeeze(1) - y).abs().mean()
        self.optim.zero_grad()
        loss.backward()  # SP103
        self.optim.step()
        return loss.item()


def run(epochs=2, steps=6):
    mem = Memory(5)
    for e in range(epochs):
        mem.start(4)
        total = sum(mem.learn(torch.randn(4, 5), torch.randn(4)) for _ in range(steps))
        print(e, total)


if __name__ == "__main__":
    run()
