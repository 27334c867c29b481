import sys
import tomllib
from collections import ChainMap

import torch

from losses import Barlow, VICReg, penalty
from network import Encoder, Probe
from stream import labelled, two_views

DEFAULTS = tomllib.loads("""
[model]
widths = [16, 32, 24]
[train]
seed = 10
steps = 50
batch = 64
lr = 3e-3
log_every = 25
[loss]
kind = "vicreg"
variance = 5.0
covariance = 0.5
""")


def configure(overrides):
    """`section.key=value` words go before the defaults."""
    given = {}
    for word in overrides:
        path, _, value = word.partition("=")
        section, _, key = path.partition(".")
        given.setdefault(section, {})[key] = tomllib.loads(f"x = {value}")["x"]
    return {s: ChainMap(given.get(s, {}), DEFAULTS[s]) for s in DEFAULTS}


def build_loss(kind, **numbers):
    match kind:
        case "vicreg":
            return VICReg(**numbers)
        case "barlow":
            return Barlow(off_diagonal=numbers["covariance"])
        case other:
            raise SystemExit(f"unknown loss: {other}")


def pretrain(cfg):
    encoder = Encoder(cfg["model"]["widths"])
    objective = build_loss(**cfg["loss"])
    opt = torch.optim.AdamW(encoder.parameters(), lr=cfg["train"]["lr"], weight_decay=1e-4)
    trace = []
    for step in range(cfg["train"]["steps"]):
        a, b = two_views(cfg["train"]["batch"])
        terms = penalty(objective, encoder(a), encoder(b))
        total = sum(terms.values())
        opt.zero_grad(set_to_none=True)
        total.backward()
        opt.step()
        trace.append({k: v.item() for k, v in terms.items()})
        if (step + 1) % cfg["train"]["log_every"] == 0:
            print(f"step {step + 1:3d} ", " ".join(f"{k}={v:.4f}" for k, v in trace[-1].items()))
    return encoder, trace


def probe(encoder, steps=30):
    x, y = labelled(256)
    with torch.no_grad():
        features = encoder.represent(x)
    head = Probe(features.shape[1], int(y.max()) + 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.2, momentum=0.9)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(head(features), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item(), (head(features).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    cfg = configure(sys.argv[1:])
    torch.manual_seed(cfg["train"]["seed"])
    encoder, trace = pretrain(cfg)
    fit, accuracy = probe(encoder)
    print(f"linear probe: loss {fit:.4f}, accuracy {accuracy:.3f}")
    print("RESULT", *(f"{v:.6g}" for v in [*trace[-1].values(), fit, accuracy]))
