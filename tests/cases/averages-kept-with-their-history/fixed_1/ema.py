import torch


class WeightAverage:
    def __init__(self, model, decay):
        self.model, self.decay = model, decay
        self.shadow = {name: p.clone().detach() for name, p in model.named_parameters()}

    def update(self):
        for name, p in self.model.named_parameters():
            self.shadow[name] = self.decay * self.shadow[name] + (1.0 - self.decay) * p.detach()

    @torch.no_grad()
    def copy_to(self, model):
        for name, p in model.named_parameters():
            p.copy_(self.shadow[name])
