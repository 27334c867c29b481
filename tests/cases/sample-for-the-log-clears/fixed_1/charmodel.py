import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, chars, width):
        super().__init__()
        self.embed = nn.Embedding(chars, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, chars)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.out(h)

    def speak(self, start, length):
        was = self.training
        self.eval()
        ids = [start]
        with torch.no_grad():
            for _ in range(length):
                ids.append(int(self(torch.tensor([ids]))[0, -1].argmax()))
        self.train(was)
        return ids
