"""Relax the positions of charges on a line segment."""
import torch


class Relaxation:
    def __init__(self, n, lr=0.0005, every=3):
        self.pos = torch.linspace(-0.4, 0.4, n).add_(0.01 * torch.randn(n)).requires_grad_()
        self.opt = torch.optim.SGD([self.pos], lr=lr, momentum=0.5)
        self.every = every
        self.log = []

    @staticmethod
    def energy(pos):
        d = (pos[:, None] - pos[None]).abs() + torch.eye(len(pos))
        return (1 / d).triu(1).sum() + 8 * pos.pow(4).sum()

    def iterate(self, it):
        if it % self.every == 0:
            self.opt.zero_grad()
            loss = self.energy(self.pos)
            loss.backward()
            self.log.append(loss.item())
            self.opt.step()

    def run(self, iterations):
        for it in range(iterations):
            self.iterate(it)
        return self.energy(self.pos).item()


torch.manual_seed(104)
print(f"RESULT {Relaxation(5).run(60):.6g}")
