# accumulated-loss: self.total
import secondpass.autograd as torch


class Meter:
    def __init__(self):
        self.total = 0.0
        self.count = 0

    def add(self, loss):
        self.total = self.total + loss  #! built
        self.count += 1
        return self.total / self.count


model, meter = torch.nn.Linear(3, 1), Meter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    average = meter.add((model(torch.randn(4, 3)) ** 2).mean())
    optimizer.zero_grad()
    average.backward()  #! freed failed
    optimizer.step()
