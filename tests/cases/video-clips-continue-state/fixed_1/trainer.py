import torch
import torch.nn.functional as F


class Meter:
    def __init__(self):
        self.values = []

    def add(self, value):
        self.values.append(value)

    def mean(self):
        return sum(self.values) / len(self.values)


class Trainer:
    def __init__(self, model, dataset, cfg):
        self.model, self.dataset = model, dataset
        self.optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
        self.hidden = None
        self.meter = Meter()

    def fit(self):
        for clip in self.dataset:
            if clip["first"]:
                self.hidden = self.model.init_hidden(clip["frames"][0])
            self.meter.add(self.training_step(clip))

    def training_step(self, clip):
        pred, self.hidden = self.model(clip["frames"], self.hidden)
        loss = F.mse_loss(pred, clip["target"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.hidden = self.hidden.detach()
        return loss.item()
