"""Short-term household load forecasting with a recurrent model that remembers
its hidden state between consecutive chunks of the meter reading."""
import argparse
import logging
import math
import sys

import torch
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)s %(message)s")
log = logging.getLogger("load-forecast")


class StatefulLoadForecaster(nn.Module):
    def __init__(self, number_of_features, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.cell = nn.GRUCell(number_of_features, hidden_size)
        self.head = nn.Sequential(nn.Linear(hidden_size, 16), nn.Tanh(), nn.Linear(16, 1))
        self.hidden_state = None

    def reset_state(self, number_of_households):
        self.hidden_state = torch.zeros(number_of_households, self.hidden_size)

    def detach_state(self):
        self.hidden_state = self.hidden_state.detach()

    def forward(self, chunk):
        predictions = []
        for features_at_t in chunk.unbind(dim=1):
            self.hidden_state = self.cell(features_at_t, self.hidden_state)
            predictions.append(self.head(self.hidden_state))
        return torch.stack(predictions, dim=1).squeeze(-1)


def simulate_meters(number_of_households, number_of_hours, generator):
    hours = torch.arange(number_of_hours + 1, dtype=torch.float32)
    phase = torch.rand(number_of_households, 1, generator=generator) * 4
    base = 0.6 + 0.3 * torch.rand(number_of_households, 1, generator=generator)
    daily = torch.sin(2 * math.pi * (hours + phase) / 24)
    weekly = 0.3 * torch.cos(2 * math.pi * hours / 168)
    noise = 0.05 * torch.randn(number_of_households, number_of_hours + 1, generator=generator)
    load = base + 0.5 * daily + weekly + noise
    clock = torch.stack([torch.sin(2 * math.pi * hours / 24), torch.cos(2 * math.pi * hours / 24)], dim=-1)
    features = torch.cat([load.unsqueeze(-1), clock.expand(number_of_households, -1, -1)], dim=-1)
    return features[:, :-1], load[:, 1:]


def evaluate(model, features, targets, chunk_length):
    model.eval()
    saved_state = model.hidden_state
    model.reset_state(features.size(0))
    absolute_error, count = 0.0, 0
    with torch.no_grad():
        for begin in range(0, features.size(1), chunk_length):
            prediction = model(features[:, begin:begin + chunk_length])
            absolute_error += (prediction - targets[:, begin:begin + chunk_length]).abs().sum().item()
            count += prediction.numel()
    model.hidden_state = saved_state
    model.train()
    return absolute_error / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--households", type=int, default=6)
    parser.add_argument("--hours", type=int, default=120)
    parser.add_argument("--chunk-length", type=int, default=12)
    parser.add_argument("--hidden-size", type=int, default=24)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--learning-rate", type=float, default=8e-3)
    parser.add_argument("--seed", type=int, default=20)
    args = parser.parse_args([])

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed + 1)
    train_features, train_targets = simulate_meters(args.households, args.hours, generator)
    test_features, test_targets = simulate_meters(2, 48, generator)

    model = StatefulLoadForecaster(train_features.size(-1), args.hidden_size)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.learning_rate)
    objective = nn.SmoothL1Loss()

    for epoch in range(args.epochs):
        model.reset_state(args.households)
        running_loss = 0.0
        chunks = zip(train_features.split(args.chunk_length, dim=1), train_targets.split(args.chunk_length, dim=1))
        for chunk_index, (chunk, chunk_targets) in enumerate(chunks, start=1):
            model.detach_state()
            optimizer.zero_grad()
            loss = objective(model(chunk), chunk_targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        test_error = evaluate(model, test_features, test_targets, args.chunk_length)
        log.info("epoch %d  train %.5f  test MAE %.5f", epoch, running_loss / chunk_index, test_error)

    weight_total = sum(p.abs().sum() for p in model.parameters()).item()
    print("RESULT %.6g %.6g %.6g" % (weight_total, running_loss, test_error))


if __name__ == "__main__":
    main()
