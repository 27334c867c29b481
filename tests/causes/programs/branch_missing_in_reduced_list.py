# unreached-parameter: model.aux; keep-history
from functools import reduce
from operator import add

import torch
from torch import nn

torch.manual_seed(3)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.main = nn.Conv2d(4, 2, 1)
        self.aux = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        h = self.stem(x).relu()
        return self.main(h), self.aux(h)


def main():
    model = Segmenter()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(7):
        img = torch.randn(2, 1, 8, 8)
        mask = (img[:, 0] > 0).long()
        main_out, aux_out = model(img)
        terms = []
        main_loss = criterion(main_out, mask)
        terms.append(main_loss)
        aux_loss = 0.4 * criterion(aux_out, mask)
        edge = (main_out[..., 1:] - main_out[..., :-1]).abs().mean()
        terms.append(0.01 * edge)  #! failed
        loss = reduce(add, terms)  #! failed
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("RESULT", float(loss))


main()
