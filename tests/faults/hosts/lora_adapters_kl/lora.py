"""Low-rank adapters for nn.Linear (Hu et al., 2021)."""
import contextlib
import math

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / rank
        self.enabled = True

    def forward(self, x):
        out = self.base(x)
        if self.enabled:
            out = out + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling
        return out


def inject(model, targets=("q_proj", "v_proj", "up"), rank=2, alpha=4.0):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(module, name, LoRALinear(child, rank, alpha))


def adapters(model):
    return [m for m in model.modules() if isinstance(m, LoRALinear)]


@contextlib.contextmanager
def adapters_disabled(model):
    found = adapters(model)
    for m in found:
        m.enabled = False
    yield model
    for m in found:
        m.enabled = True
