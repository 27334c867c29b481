"""An engine with events, in the manner of ignite: handlers are attached by decorators, the step is a function."""
from collections import defaultdict
from enum import Enum, auto

import torch
import torch.nn as nn


class Events(Enum):
    STARTED = auto()
    ITERATION_COMPLETED = auto()
    EPOCH_COMPLETED = auto()
    COMPLETED = auto()


class State:
    def __init__(self):
        self.epoch = 0
        self.iteration = 0
        self.output = None
        self.metrics = {}


class Engine:
    def __init__(self, process):
        self.process = process
        self.handlers = defaultdict(list)
        self.state = State()

    def on(self, event, every=1):
        def attach(handler):
            self.handlers[event].append((every, handler))
            return handler

        return attach

    def fire(self, event, count):
        for every, handler in self.handlers[event]:
            if count % every == 0:
                handler(self)

    def run(self, data, max_epochs):
        self.fire(Events.STARTED, 0)
        for self.state.epoch in range(1, max_epochs + 1):
            for batch in data:
                self.state.iteration += 1
                self.state.output = self.process(self, batch)
                self.fire(Events.ITERATION_COMPLETED, self.state.iteration)
            self.fire(Events.EPOCH_COMPLETED, self.state.epoch)
        self.fire(Events.COMPLETED, 0)
        return self.state


def main():
    torch.manual_seed(3)
    signals = torch.sin(torch.linspace(0, 6.28, 24)[None] * torch.rand(60, 1) * 3 + torch.rand(60, 1))
    batches = signals.split(12)

    encoder = nn.Sequential(nn.Linear(24, 16), nn.SiLU(), nn.Linear(16, 3))
    decoder = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 24))
    everything = nn.ModuleDict({"encoder": encoder, "decoder": decoder})
    optimizer = torch.optim.AdamW(everything.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.7)

    def train_step(engine, batch):
        everything.train()
        optimizer.zero_grad(set_to_none=True)
        code = encoder(batch + 0.05 * torch.randn_like(batch))
        restored = decoder(code)
        loss = (restored - batch).square().mean() + 1e-3 * code.abs().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss.item(), "sparsity": code.detach().abs().mean()}

    trainer = Engine(train_step)

    @trainer.on(Events.ITERATION_COMPLETED)
    def running_average(engine):
        old = engine.state.metrics.get("loss", engine.state.output["loss"])
        engine.state.metrics["loss"] = 0.9 * old + 0.1 * engine.state.output["loss"]

    @trainer.on(Events.ITERATION_COMPLETED, every=10)
    def report(engine):
        print(engine.state.epoch, engine.state.iteration, f"{engine.state.metrics['loss']:.4f}")

    @trainer.on(Events.EPOCH_COMPLETED)
    def decay(engine):
        scheduler.step()

    @trainer.on(Events.COMPLETED)
    @torch.no_grad()
    def evaluate(engine):
        everything.eval()
        engine.state.metrics["final"] = (decoder(encoder(signals)) - signals).square().mean().item()

    state = trainer.run(batches, max_epochs=6)
    print("RESULT", f"{state.metrics['loss']:.6f}", f"{state.metrics['final']:.6f}")


if __name__ == "__main__":
    main()
