import torch


def rotation(angle):
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)


class Scene:
    """A few flat Gaussians in the unit square."""

    def __init__(self, means, log_scales, angles, colors):
        self.means = means.requires_grad_()
        self.log_scales = log_scales.requires_grad_()
        self.angles = angles.requires_grad_()
        self.colors = colors.requires_grad_()
        self.gaussians = {"mean": self.means, "inv_cov": self.precision(), "color": self.colors}

    @classmethod
    def random(cls, n):
        return cls(torch.rand(n, 2), torch.randn(n, 2) * 0.3 - 1.5, torch.rand(n) * 3, torch.rand(n))

    def precision(self):
        r = rotation(self.angles)
        return r @ torch.diag_embed(torch.exp(-2 * self.log_scales)) @ r.transpose(-1, -2)
