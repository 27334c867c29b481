"""DeepSurv-style proportional hazards model, stratified by hospital, with early stopping on the validation C-index."""
import copy
from dataclasses import asdict, dataclass, field
from typing import Optional

import torch
from torch import nn


@dataclass(frozen=True)
class Config:
    seed: int = 8
    n_patients: int = 240
    n_covariates: int = 6
    n_hospitals: int = 3
    hidden: tuple = (16, 8)
    lr: float = 5e-3
    weight_decay: float = 1e-3
    max_epochs: int = 25
    patience: int = 6


@dataclass
class Cohort:
    covariates: torch.Tensor
    time: torch.Tensor
    event: torch.Tensor
    hospital: torch.Tensor

    def __len__(self):
        return len(self.time)

    def where(self, mask):
        return Cohort(self.covariates[mask], self.time[mask], self.event[mask], self.hospital[mask])


@dataclass
class BestSoFar:
    score: float = float("-inf")
    epoch: int = -1
    weights: Optional[dict] = None
    scores: list = field(default_factory=list)

    def offer(self, score, epoch, model):
        self.scores.append(score)
        if score > self.score:
            self.score, self.epoch = score, epoch
            self.weights = copy.deepcopy(model.state_dict())
        return epoch - self.epoch


def simulate(cfg):
    z = torch.randn(cfg.n_patients, cfg.n_covariates)
    hospital = torch.randint(cfg.n_hospitals, (cfg.n_patients,))
    risk = 1.2 * z[:, 0] - 0.8 * z[:, 1] ** 2 + 0.5 * z[:, 2] * z[:, 3]
    baseline = torch.tensor([0.5, 1.0, 2.0])[hospital]
    death = -torch.log(torch.rand(cfg.n_patients)) / (baseline * risk.exp())
    censoring = -torch.log(torch.rand(cfg.n_patients)) / 0.3
    return Cohort(z, torch.minimum(death, censoring), (death <= censoring).float(), hospital)


class HazardNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        sizes = (cfg.n_covariates,) + cfg.hidden
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers += [nn.Linear(a, b), nn.SELU()]
        self.body = nn.Sequential(*layers)
        self.log_hazard = nn.Linear(sizes[-1], 1, bias=False)

    def forward(self, z):
        return self.log_hazard(self.body(z)).squeeze(-1)


def neg_partial_log_likelihood(log_hazard, cohort):
    order = cohort.time.argsort(descending=True)
    lh, ev = log_hazard[order], cohort.event[order]
    return -((lh - torch.logcumsumexp(lh, 0)) * ev).sum() / ev.sum()


@torch.no_grad()
def concordance(model, cohort):
    model.eval()
    risk = model(cohort.covariates)
    earlier = (cohort.time[:, None] < cohort.time[None, :]) & (cohort.event[:, None] > 0)
    agree = (risk[:, None] > risk[None, :]) & earlier
    model.train()
    return (agree.sum() / earlier.sum()).item()


@torch.no_grad()
def breslow(model, cohort):
    order = cohort.time.argsort(descending=True)
    at_risk = model(cohort.covariates)[order].exp().cumsum(0)
    return (cohort.event[order] / at_risk).sum().item()


def fit(cfg):
    torch.manual_seed(cfg.seed)
    everyone = simulate(cfg)
    split = torch.rand(len(everyone)) < 0.7
    train, valid = everyone.where(split), everyone.where(~split)
    model = HazardNet(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    best, curve = BestSoFar(), []

    for epoch in range(cfg.max_epochs):
        optimizer.zero_grad()
        epoch_loss = 0.0
        for h in range(cfg.n_hospitals):
            stratum = train.where(train.hospital == h)
            loss = neg_partial_log_likelihood(model(stratum.covariates), stratum) / cfg.n_hospitals
            loss.backward()
            epoch_loss += loss.item()
        optimizer.step()
        curve.append(epoch_loss)

        waited = best.offer(concordance(model, valid), epoch, model)
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}  loss {epoch_loss:.4f}  c-index {best.scores[-1]:.4f}")
        if waited >= cfg.patience:
            print(f"stopped at epoch {epoch}, best {best.epoch}")
            break

    last = sum(p.detach().abs().sum().item() for p in model.parameters())
    model.load_state_dict(best.weights)
    return model, train, best, curve, last


if __name__ == "__main__":
    cfg = Config()
    print(asdict(cfg))
    model, train, best, curve, last = fit(cfg)
    kept = sum(p.detach().abs().sum().item() for p in model.parameters())
    hazard = breslow(model, train.where(train.hospital == 0))
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (last, kept, curve[-1], best.score, hazard))
