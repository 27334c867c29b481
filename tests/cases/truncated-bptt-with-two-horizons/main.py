import torch
from torch import nn


class TBPTT:
    """A loss every k1 steps, sent back through the last k2 of them (k2 > k1)."""

    def __init__(self, cell, head, loss_fn, k1, k2, optimizer):
        self.cell, self.head, self.loss_fn = cell, head, loss_fn
        self.k1, self.k2, self.optimizer = k1, k2, optimizer
        self.retain_graph = k1 < k2

    def train(self, sequence, state):
        states = [(None, state)]
        last = None
        for j, (x, y) in enumerate(sequence):
            before = states[-1][1].detach().requires_grad_()
            after = self.cell(x, before)
            states.append((before, after))
            while len(states) > self.k2:
                del states[0]
            if (j + 1) % self.k1 == 0:
                loss = self.loss_fn(self.head(after), y)
                self.optimizer.zero_grad()
                loss.backward(retain_graph=self.retain_graph)
                for i in range(self.k2 - 1):
                    if states[-i - 2][0] is None:
                        break
                    grad = states[-i - 1][0].grad
                    states[-i - 2][1].backward(grad, retain_graph=self.retain_graph)
                self.optimizer.step()
                last = loss.item()
        return last


torch.manual_seed(59)
cell, head = nn.RNNCell(2, 10), nn.Linear(10, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
runner = TBPTT(cell, head, nn.MSELoss(), k1=4, k2=4, optimizer=optimizer)
series = torch.sin(torch.arange(64) * 0.3)
pairs = [(series[i:i + 2].unsqueeze(0), series[i + 2].view(1, 1)) for i in range(60)]
print(f"RESULT {runner.train(pairs, torch.zeros(1, 10)):.6g}")
