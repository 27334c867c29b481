import torch


class Lookahead:
    def __init__(self, fast, k, alpha):
        self.fast, self.k, self.alpha, self.count = fast, k, alpha, 0
        self.slow = [[p.detach().clone() for p in group["params"]] for group in fast.param_groups]

    def zero_grad(self):
        self.fast.zero_grad(set_to_none=True)

    @torch.no_grad()
    def step(self):
        self.fast.step()
        self.count += 1
        if self.count % self.k:
            return
        for slow, group in zip(self.slow, self.fast.param_groups):
            for s, p in zip(slow, group["params"]):
                s.add_(p - s, alpha=self.alpha)
                p.copy_(s)
