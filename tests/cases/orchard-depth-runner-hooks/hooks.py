import copy

import torch
from torch.nn.utils import clip_grad_norm_

from runner import register


@register
class OptimizerHook:
    def __init__(self, grad_clip=None):
        self.grad_clip = grad_clip

    def clip(self, params):
        return clip_grad_norm_([p for p in params if p.grad is not None], **self.grad_clip)

    def after_iter(self, runner):
        runner.optimizer.zero_grad()
        runner.outputs["loss"].backward()
        if self.grad_clip:
            runner.log["grad_norm"] = float(self.clip(runner.model.parameters()))
        runner.optimizer.step()


@register
class EMAOptimizerHook(OptimizerHook):
    """Keeps a slow copy of the weights, used for evaluation."""

    def __init__(self, momentum=0.05, **kw):
        super().__init__(**kw)
        self.momentum = momentum

    def before_run(self, runner):
        self.shadow = copy.deepcopy(runner.model).requires_grad_(False)

    @torch.no_grad()
    def _blend(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, self.momentum)

    def after_iter(self, runner):
        super().after_iter(runner)
        self._blend(runner.model)

    def after_run(self, runner):
        runner.log["ema"] = self.shadow


@register
class MeterHook:
    def __init__(self):
        self.sums, self.n = {}, 0

    def after_iter(self, runner):
        for k, v in runner.outputs["log_vars"].items():
            self.sums[k] = self.sums.get(k, 0.0) + v
        self.n += 1

    def after_epoch(self, runner):
        runner.log.update({k: v / self.n for k, v in self.sums.items()})
        print(f"epoch {runner.epoch}", " ".join(f"{k} {v / self.n:.4f}" for k, v in self.sums.items()))
        self.sums, self.n = {}, 0
