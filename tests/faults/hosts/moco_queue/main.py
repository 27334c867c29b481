import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from bank import KeyQueue, info_nce
from encoders import ConvTrunk, momentum_update

torch.manual_seed(17)
gen = torch.Generator().manual_seed(18)

cfg = {"batch": 32, "epochs": 6, "queue": 128, "tau": 0.2, "m": 0.95, "lr": 0.06, "probe_steps": 10}

# waves of four frequencies, random phase
freq = torch.randint(1, 5, (128,), generator=gen)
t = torch.linspace(0, 2 * math.pi, 32)
phase = 2 * math.pi * torch.rand(128, 1, generator=gen)
waves = torch.sin(freq[:, None] * t + phase)[:, None]


def augment(x):
    shift = int(torch.randint(0, 32, (1,), generator=gen))
    gain = 0.7 + 0.6 * torch.rand(len(x), 1, 1, generator=gen)
    return gain * x.roll(shift, -1) + 0.15 * torch.randn(x.shape, generator=gen)


query_net = ConvTrunk()
key_net = copy.deepcopy(query_net)
queue = KeyQueue(cfg["queue"], 12, gen)
opt = torch.optim.SGD(query_net.parameters(), lr=cfg["lr"], momentum=0.9, weight_decay=1e-4)

for epoch in range(cfg["epochs"]):
    loss_sum = acc_sum = 0.0
    batches = torch.randperm(128, generator=gen).split(cfg["batch"])
    for idx in batches:
        x = waves[idx]
        q = query_net(augment(x))
        momentum_update(query_net, key_net, cfg["m"])
        with torch.no_grad():
            k = key_net(augment(x))
        loss, acc = info_nce(q, k, queue.negatives(), cfg["tau"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        queue.push(k)
        loss_sum += loss.item()
        acc_sum += acc.item()
    print("epoch %d  nce %.4f  top1 %.3f" % (epoch, loss_sum / len(batches), acc_sum / len(batches)))

# linear probe on frozen features
query_net.eval()
probe = nn.Linear(16, 4)
popt = torch.optim.Adam(probe.parameters(), lr=0.1)
with torch.no_grad():
    feats = query_net.features(waves)
    feats = (feats - feats.mean(0)) / (feats.std(0) + 1e-5)
for _ in range(cfg["probe_steps"]):
    popt.zero_grad()
    ploss = F.cross_entropy(probe(feats), freq - 1)
    ploss.backward()
    popt.step()
print("probe loss %.4f" % ploss.item())

weights = [sum(p.abs().sum().item() for p in net.parameters()) for net in (query_net, key_net, probe)]
print("RESULT", *["%.6g" % v for v in weights + [loss.item(), ploss.item(), queue.keys.abs().sum().item()]])
