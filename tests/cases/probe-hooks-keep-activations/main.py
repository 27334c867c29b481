from collections import defaultdict

import torch
from torch import nn
import torch.nn.functional as F


class Probe:
    """Collects what the layers of interest put out, to plot dead units later."""

    def __init__(self, model, kinds=(nn.ReLU,)):
        self.outputs = defaultdict(list)
        self.handles = [m.register_forward_hook(self.hook(name)) for name, m in model.named_modules() if isinstance(m, kinds)]

    def hook(self, name):
        def record(module, inputs, output):
            self.outputs[name].append(output)
        return record

    def dead(self):
        return {name: (torch.cat(o).max(0).values <= 0).sum().item() for name, o in self.outputs.items()}

    def close(self):
        for handle in self.handles:
            handle.remove()


def main():
    torch.manual_seed(24)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    probe = Probe(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(60):
        x = torch.randn(32, 10)
        loss = F.cross_entropy(model(x), (x.sum(1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    probe.close()
    print("RESULT", f"{loss.item():.6g}", *probe.dead().values())


main()
