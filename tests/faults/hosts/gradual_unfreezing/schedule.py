from torch import nn


class GradualUnfreezer:
    """Thaws one more layer per stage, each with a learning rate `shrink` times the one above it."""

    def __init__(self, optimizer, layers, base_lr, shrink=2.6):
        self.optimizer, self.base_lr, self.shrink = optimizer, base_lr, shrink
        self.waiting = list(layers)
        self.depth = 0
        for layer in self.waiting:
            layer.requires_grad_(False)

    def thaw_next(self):
        if not self.waiting:
            return None
        layer: nn.Module = self.waiting.pop(0)
        layer.requires_grad_(True)
        self.depth += 1
        self.optimizer.add_param_group({
            "params": list(layer.parameters()), "lr": self.base_lr / self.shrink ** self.depth, "peak": self.base_lr / self.shrink ** self.depth})
        return type(layer).__name__


def slanted_triangle(step, total, cut=0.25, floor=1 / 16):
    rise = max(1, int(total * cut))
    p = step / rise if step < rise else 1 - (step - rise) / (total - rise)
    return floor + (1 - floor) * max(p, 0.0)


def set_lr(optimizer, factor):
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor
