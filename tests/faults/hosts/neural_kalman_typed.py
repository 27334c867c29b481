"""Learns dynamics and noise of a linear-Gaussian tracker by maximising the filter's likelihood."""
from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import torch
from torch import Tensor, nn

STATE_DIM: Final[int] = 4
OBS_DIM: Final[int] = 2
SEGMENT: Final[int] = 6


@dataclass(frozen=True, slots=True)
class Belief:
    mean: Tensor        # (batch, state)
    cov: Tensor         # (batch, state, state)

    @classmethod
    def vague(cls, batch: int) -> Belief:
        return cls(torch.zeros(batch, STATE_DIM), torch.eye(STATE_DIM).expand(batch, -1, -1) * 4.0)

    def detach(self) -> Belief:
        return replace(self, mean=self.mean.detach(), cov=self.cov.detach())


@dataclass(frozen=True, slots=True)
class Report:
    sweep: int
    nll: float
    process_noise: float
    sensor_noise: float


class KalmanFilter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.drift = nn.Parameter(0.05 * torch.randn(STATE_DIM, STATE_DIM))
        self.log_q = nn.Parameter(torch.full((STATE_DIM,), -1.0))
        self.log_r = nn.Parameter(torch.full((OBS_DIM,), 0.0))
        self.register_buffer("observe", torch.eye(OBS_DIM, STATE_DIM))
        self.observe: Tensor

    def predict(self, belief: Belief) -> Belief:
        transition = torch.eye(STATE_DIM) + self.drift
        cov = transition @ belief.cov @ transition.mT + torch.diag(self.log_q.exp())
        return Belief(belief.mean @ transition.mT, cov)

    def correct(self, prior: Belief, y: Tensor) -> tuple[Belief, Tensor]:
        innovation = y - prior.mean @ self.observe.mT
        s = self.observe @ prior.cov @ self.observe.mT + torch.diag(self.log_r.exp())
        chol = torch.linalg.cholesky(s)
        gain = torch.cholesky_solve(self.observe @ prior.cov, chol).mT
        mean = prior.mean + (gain @ innovation.unsqueeze(-1)).squeeze(-1)
        cov = prior.cov - gain @ self.observe @ prior.cov
        white = torch.linalg.solve_triangular(chol, innovation.unsqueeze(-1), upper=False).squeeze(-1)
        log_det = 2 * chol.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        nll = 0.5 * (white.square().sum(-1) + log_det + OBS_DIM * math.log(2 * math.pi))
        return Belief(mean, 0.5 * (cov + cov.mT)), nll

    def forward(self, belief: Belief, segment: Tensor) -> tuple[Belief, Tensor]:
        terms: list[Tensor] = []
        for y in segment.unbind(1):
            belief, nll = self.correct(self.predict(belief), y)
            terms.append(nll)
        return belief, torch.stack(terms).mean()


def simulate(batch: int, length: int, generator: torch.Generator) -> Tensor:
    state = torch.randn(batch, STATE_DIM, generator=generator)
    observations: list[Tensor] = []
    for _ in range(length):
        position, velocity = state.chunk(2, dim=-1)
        velocity = 0.95 * velocity + 0.1 * torch.randn(velocity.shape, generator=generator)
        state = torch.cat([position + 0.3 * velocity, velocity], dim=-1)
        observations.append(state[:, :OBS_DIM] + 0.2 * torch.randn(batch, OBS_DIM, generator=generator))
    return torch.stack(observations, dim=1)


def segments(tracks: Tensor) -> Iterator[Tensor]:
    yield from tracks.split(SEGMENT, dim=1)


def fit(model: KalmanFilter, tracks: Tensor, sweeps: int) -> Sequence[Report]:
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    reports: list[Report] = []
    for sweep in range(sweeps):
        belief, total, count = Belief.vague(tracks.shape[0]), 0.0, 0
        for segment in segments(tracks):
            belief, nll = model(belief, segment)
            optimizer.zero_grad()
            nll.backward()
            optimizer.step()
            belief = belief.detach()
            total, count = total + nll.item(), count + 1
        reports.append(Report(sweep, total / count, model.log_q.exp().mean().item(), model.log_r.exp().mean().item()))
    return reports


@torch.no_grad()
def score(model: KalmanFilter, tracks: Tensor) -> float:
    _, nll = model(Belief.vague(tracks.shape[0]), tracks)
    return float(nll)


def main() -> None:
    torch.manual_seed(1960)
    generator = torch.Generator().manual_seed(1961)
    train, test = simulate(10, 24, generator), simulate(10, 24, generator)
    model = KalmanFilter()
    before = score(model, test)
    reports = fit(model, train, sweeps=6)
    for r in reports:
        print(f"sweep {r.sweep}: nll {r.nll:.4f}  q {r.process_noise:.4f}  r {r.sensor_noise:.4f}")
    after = score(model, test)
    print(f"test nll {before:.4f} -> {after:.4f}")
    masses = [p.detach().abs().sum().item() for p in model.parameters()]
    print("RESULT", *(f"{v:.6g}" for v in (*masses, reports[-1].nll, after)))


if __name__ == "__main__":
    main()
