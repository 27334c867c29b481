import copy

import torch


class EMA:
    def __init__(self, model, beta, start=0):
        self.online = model
        self.shadow = copy.deepcopy(model).eval()
        self.shadow.requires_grad_(False)
        self.beta, self.start = beta, start

    @torch.no_grad()
    def update(self, step):
        if step < self.start:
            self.shadow.load_state_dict(self.online.state_dict())
            return
        for s, p in zip(self.shadow.parameters(), self.online.parameters()):
            s.mul_(self.beta).add_(p, alpha=1 - self.beta)
