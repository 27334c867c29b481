import torch
import torch.nn.functional as F
from torch import nn


class Network(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(cfg["frame"], cfg["latent"]), nn.ReLU(), nn.Linear(cfg["latent"], cfg["latent"]))
        self.summarise = nn.GRU(cfg["latent"], cfg["context"], batch_first=True)
        self.ahead = nn.ModuleList(nn.Linear(cfg["context"], cfg["latent"]) for _ in range(cfg["horizon"]))

    def forward(self, frames):
        latents = self.encode(frames)
        contexts, _ = self.summarise(latents)
        return latents, contexts


class Learner:
    def __init__(self, cfg):
        torch.manual_seed(cfg["seed"])
        self.net = Network(cfg)
        options = dict(cfg["optim"])
        self.optimizer = getattr(torch.optim, options.pop("name"))(self.net.parameters(), **options)
        self.log = {"nce": [], "hits": []}

    def loss(self, frames):
        latents, contexts = self.net(frames)
        losses, hits = [], []
        for k, predict in enumerate(self.net.ahead, start=1):
            guess = predict(contexts[:, :-k]).flatten(0, 1)
            truth = latents[:, k:].flatten(0, 1)
            scores = guess @ truth.T
            answer = torch.arange(len(scores))
            losses.append(F.cross_entropy(scores, answer))
            hits.append((scores.argmax(1) == answer).float().mean())
        return torch.stack(losses).mean(), torch.stack(hits).mean()

    def update(self, frames):
        loss, hits = self.loss(frames)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.log["nce"].append(loss.item())
        self.log["hits"].append(hits.item())

    def summary(self):
        return {k: round(sum(v[-8:]) / len(v[-8:]), 4) for k, v in self.log.items()}

    def final(self):
        return [*self.summary().values(), sum(p.detach().abs().sum().item() for p in self.net.parameters())]
