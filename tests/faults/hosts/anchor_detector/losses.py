import torch
import torch.nn.functional as F


class RunningMean(object):
    def __init__(self, momentum):
        self.momentum = momentum
        self.value = None

    def __call__(self, x):
        self.value = x if self.value is None else self.momentum * self.value + (1 - self.momentum) * x
        return self.value


class BalancedDetectionLoss(object):
    """objectness + box regression, each divided by the running mean of its own size"""
    def __init__(self, momentum=0.9, gamma=2.0):
        self.gamma = gamma
        self.norm = {'obj': RunningMean(momentum), 'box': RunningMean(momentum)}

    def objectness(self, logits, target):
        ce = F.binary_cross_entropy_with_logits(logits, target, reduction='none')
        pt = torch.exp(-ce)
        return ((1 - pt) ** self.gamma * ce).sum() / target.sum().clamp(min=1)

    def __call__(self, logits, deltas, obj_target, box_target):
        positive = obj_target > 0.5
        parts = {'obj': self.objectness(logits, obj_target),
                 'box': F.smooth_l1_loss(deltas[positive], box_target[positive])}
        total = 0
        for name, part in parts.items():
            total = total + part / (self.norm[name](part.item()) + 1e-3)
        return total, {name: part.item() for name, part in parts.items()}
