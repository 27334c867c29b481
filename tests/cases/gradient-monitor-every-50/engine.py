import torch
import torch.nn.functional as F


class Engine:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.monitors = []
        self.last_loss = float("nan")

    def attach(self, monitor):
        self.monitors.append(monitor)

    def run(self, stream, steps):
        for step in range(steps):
            x, y = next(stream)
            self.update(step, x, y)

    def update(self, step, x, y):
        loss = F.mse_loss(self.model(x), y)
        for monitor in self.monitors:
            monitor.after_loss(step, self.model, loss)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.last_loss = loss.item()
