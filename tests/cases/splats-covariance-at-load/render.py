import torch


def splat(scene, size):
    axis = (torch.arange(size) + 0.5) / size
    pixels = torch.cartesian_prod(axis, axis)
    d = pixels[:, None] - scene.gaussians["mean"]
    power = torch.einsum("pgi,gij,pgj->pg", d, scene.gaussians["inv_cov"], d)
    return (torch.exp(-0.5 * power) * scene.gaussians["color"]).sum(1).view(size, size)
