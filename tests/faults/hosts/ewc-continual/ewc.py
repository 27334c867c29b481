import torch
import torch.nn.functional as F


class Consolidation:
    """Remembers where the weights were after each task and how much each of them mattered."""

    def __init__(self, strength):
        self.strength = strength
        self.anchors = []       # list of (means, fishers)

    def fisher_diagonal(self, model, x, n_samples):
        model.eval()
        fisher = {n: torch.zeros_like(p) for n, p in model.named_parameters()}
        names, params = zip(*model.named_parameters())
        for xi in x[:n_samples]:
            log_prob = F.log_softmax(model(xi.unsqueeze(0)), dim=1)
            label = torch.multinomial(log_prob.detach().exp(), 1).item()
            grads = torch.autograd.grad(log_prob[0, label], params)
            for name, g in zip(names, grads):
                fisher[name] += g.pow(2) / n_samples
        model.train()
        return fisher

    def register(self, model, x, n_samples=24):
        means = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.anchors.append((means, self.fisher_diagonal(model, x, n_samples)))

    def penalty(self, model):
        total = torch.zeros(())
        for means, fishers in self.anchors:
            for name, p in model.named_parameters():
                total = total + (fishers[name] * (p - means[name]).pow(2)).sum()
        return 0.5 * self.strength * total
