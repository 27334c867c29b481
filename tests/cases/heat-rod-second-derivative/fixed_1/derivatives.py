import torch


def slope(y, x):
    """dy/dx, point by point."""
    dy, = torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)
    return dy


def nth_derivative(y, x, order):
    for _ in range(order):
        y = slope(y, x)
    return y
