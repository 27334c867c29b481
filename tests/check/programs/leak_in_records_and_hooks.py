from collections import defaultdict, namedtuple

import torch
from torch import nn

Result = namedtuple("Result", "step loss")


class Probe:
    def __init__(self, module):
        self.outputs = defaultdict(list)
        module.register_forward_hook(self.hook("first"))

    def hook(self, name):
        def record(module, inputs, output):
            self.outputs[name].append(output)  # SP401

        return record


class Recorder:
    def __init__(self):
        self.records = []

    def keep(self, result):
        self.records.append(result)  # SP401


net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
probe, recorder = Probe(net[0]), Recorder()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(50):
    loss = net(torch.randn(4, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    recorder.keep(Result(step, loss))
