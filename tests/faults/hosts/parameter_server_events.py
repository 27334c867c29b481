# Asynchronous SGD as a discrete-event simulation: no threads, just a heap of timestamped events.
import copy
import enum
import heapq
import itertools
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass(frozen=True)
class Fetch:
    worker: int


@dataclass(frozen=True)
class Push:
    worker: int
    version: int
    loss: float
    grads: tuple = field(compare=False)


class Evaluate:
    pass


class Phase(enum.Enum):
    WARMUP = enum.auto()
    CRUISE = enum.auto()
    COOLDOWN = enum.auto()
    DONE = enum.auto()


class Stateful(nn.Module):
    """one-step-ahead predictor with a recurrent state"""

    def __init__(self, width=10):
        super().__init__()
        self.cell = nn.GRUCell(1, width)
        self.readout = nn.Linear(width, 1)

    def forward(self, series, h):
        hs = []
        for x in series.unbind(1):
            h = self.cell(x.unsqueeze(-1), h)
            hs.append(h)
        return self.readout(torch.stack(hs, 1)).squeeze(-1), h


class Worker:
    def __init__(self, ident, latency):
        self.latency = latency
        self.clock = torch.arange(5.0) + 10 * ident
        self.rate = 0.3 + 0.1 * ident
        self.h = torch.zeros(5, 10)

    def next_chunk(self, n=8):
        t = self.clock[:, None] + torch.arange(n + 1)
        self.clock = self.clock + n
        s = torch.sin(self.rate * t) + 0.05 * torch.randn(5, n + 1)
        return s[:, :-1], s[:, 1:]

    def work(self, replica):
        x, y = self.next_chunk()
        pred, h = replica(x, self.h)
        loss = nn.functional.mse_loss(pred, y)
        grads = torch.autograd.grad(loss, list(replica.parameters()))
        self.h = h.detach()
        return loss.item(), grads


class Server:
    def __init__(self, model, total):
        self.model, self.total, self.version = model, total, 0
        self.opt = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.5)
        self.phase = Phase.WARMUP
        self.staleness = []

    def transition(self):
        match self.phase, self.version / self.total:
            case Phase.WARMUP, f if f >= 0.2:
                self.phase = Phase.CRUISE
            case Phase.CRUISE, f if f >= 0.7:
                self.phase = Phase.COOLDOWN
            case Phase.COOLDOWN, f if f >= 1.0:
                self.phase = Phase.DONE

    def apply(self, grads, version):
        lag = self.version - version
        self.staleness.append(lag)
        lr = {Phase.WARMUP: 0.03, Phase.CRUISE: 0.15, Phase.COOLDOWN: 0.05}[self.phase]
        self.opt.param_groups[0]["lr"] = lr / (1 + 0.5 * lag)
        for p, g in zip(self.model.parameters(), grads):
            p.grad = g
        self.opt.step()
        self.opt.zero_grad()
        self.version += 1
        self.transition()


def simulate(total=36):
    server = Server(Stateful(), total)
    workers = [Worker(i, lat) for i, lat in enumerate((1.0, 1.7, 3.1))]
    order, agenda = itertools.count(), []
    losses, evals = [], []

    def schedule(when, event):
        heapq.heappush(agenda, (when, next(order), event))

    for i in range(len(workers)):
        schedule(0.1 * i, Fetch(i))
    schedule(5.0, Evaluate())
    judge = Worker(1, 0.0)

    while agenda and server.phase is not Phase.DONE:
        now, _, event = heapq.heappop(agenda)
        match event:
            case Fetch(worker=i):
                replica = copy.deepcopy(server.model)
                loss, grads = workers[i].work(replica)
                schedule(now + workers[i].latency, Push(i, server.version, loss, grads))
            case Push(worker=i, version=v, loss=loss, grads=grads):
                server.apply(grads, v)
                losses.append(loss)
                schedule(now + 0.05, Fetch(i))
            case Evaluate():
                with torch.no_grad():
                    x, y = judge.next_chunk(24)
                    evals.append(nn.functional.mse_loss(server.model(x, torch.zeros(5, 10))[0], y).item())
                print(f"t={now:5.1f} v{server.version:2d} {server.phase.name:8s} mse {evals[-1]:.4f}")
                schedule(now + 5.0, Evaluate())
    return server, losses, evals


torch.manual_seed(47)
server, losses, evals = simulate()
size, lag = sum(p.detach().abs().sum().item() for p in server.model.parameters()), server.staleness
print("RESULT %.6g %.6g %.6g %.6g" % (size, losses[-1], evals[-1], sum(lag) / len(lag)))
