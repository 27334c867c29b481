from dataclasses import dataclass, field
import copy
import torch
import torch.nn as nn


@dataclass
class Config:
    hidden: int = 20
    layers: int = 2
    bptt: int = 10
    lanes: int = 3
    max_epochs: int = 5
    lr: float = 0.005
    weight_decay: float = 1e-4
    patience: int = 2
    clip: float = 0.5
    seed: int = 4


@dataclass
class History:
    train: list = field(default_factory=list)
    val: list = field(default_factory=list)


def tides(lanes, n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, n / 6.2, n + 1)
    amp = torch.rand(lanes, 3, 1, generator=g)
    freq = torch.tensor([0.5, 1.0, 1.93]).view(1, 3, 1)
    level = (amp * torch.sin(freq * t + 3 * torch.rand(lanes, 3, 1, generator=g))).sum(1)
    return level + 0.02 * torch.randn(lanes, n + 1, generator=g)


class TideLSTM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.lstm = nn.LSTM(1, cfg.hidden, cfg.layers, batch_first=True)
        self.mu = nn.Linear(cfg.hidden, 1)
        self.log_sigma = nn.Linear(cfg.hidden, 1)

    def forward(self, level, state=None):
        feats, state = self.lstm(level.unsqueeze(-1), state)
        mu = level + self.mu(feats).squeeze(-1)
        return mu, self.log_sigma(feats).squeeze(-1).clamp(-4, 2), state


def gaussian_nll(mu, log_sigma, target):
    return (log_sigma + 0.5 * ((target - mu) / log_sigma.exp()) ** 2).mean()


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = TideLSTM(cfg)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.sched = torch.optim.lr_scheduler.ExponentialLR(self.opt, 0.85)
        self.history = History()
        self.best = float("inf")
        self.best_weights = None
        self.bad_epochs = 0

    def windows(self, series):
        k = self.cfg.bptt
        for s in range(0, series.size(1) - 1, k):
            e = min(s + k, series.size(1) - 1)
            yield series[:, s:e], series[:, s + 1:e + 1]

    def fit_epoch(self, series):
        self.model.train()
        state, total, n = None, 0.0, 0
        for x, y in self.windows(series):
            if state is not None:
                state = tuple(s.detach() for s in state)
            mu, log_sigma, state = self.model(x, state)
            loss = gaussian_nll(mu, log_sigma, y)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
            self.opt.step()
            total += loss.item()
            n += 1
        return total / n

    @torch.no_grad()
    def validate(self, series):
        self.model.eval()
        state, losses = None, []
        for x, y in self.windows(series):
            mu, log_sigma, state = self.model(x, state)
            losses.append(gaussian_nll(mu, log_sigma, y))
        return torch.stack(losses).mean().item()

    def run(self, train, val):
        for epoch in range(self.cfg.max_epochs):
            self.history.train.append(self.fit_epoch(train))
            self.history.val.append(self.validate(val))
            self.sched.step()
            print(f"[{epoch}] nll {self.history.train[-1]:+.4f} / {self.history.val[-1]:+.4f}")
            if self.history.val[-1] < self.best:
                self.best = self.history.val[-1]
                self.best_weights = copy.deepcopy(self.model.state_dict())
                self.bad_epochs = 0
            else:
                self.bad_epochs += 1
                if self.bad_epochs >= self.cfg.patience:
                    break
        self.model.load_state_dict(self.best_weights)


if __name__ == "__main__":
    cfg = Config()
    torch.manual_seed(cfg.seed)
    trainer = Trainer(cfg)
    trainer.run(tides(cfg.lanes, 70, 11), tides(2, 30, 12))
    size = sum(v.abs().sum().item() for v in trainer.model.state_dict().values())
    print(f"RESULT {size:.6g} {trainer.history.train[-1]:.6g} {trainer.best:.6g}")
