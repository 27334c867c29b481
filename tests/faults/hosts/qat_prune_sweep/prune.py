import torch

from quant import QLinear


def target_sparsity(step, begin, end, final):
    """cubic schedule of Zhu & Gupta"""
    t = min(max((step - begin) / (end - begin), 0.0), 1.0)
    return final * (1 - (1 - t) ** 3)


@torch.no_grad()
def prune_by_magnitude(net, sparsity):
    for layer in net.modules():
        if isinstance(layer, QLinear):
            k = int(sparsity * layer.weight.numel())
            if k:
                cut = layer.weight.abs().flatten().kthvalue(k).values
                layer.mask.copy_(layer.weight.abs() > cut)


@torch.no_grad()
def density(net):
    masks = [m.mask for m in net.modules() if isinstance(m, QLinear)]
    return sum(m.sum().item() for m in masks) / sum(m.numel() for m in masks)
