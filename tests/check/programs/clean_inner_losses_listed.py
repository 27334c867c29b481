"""The losses of all inner steps are listed, and the last one is used: the list lives for one task."""

import torch
import torch.nn.functional as F

weights = [torch.randn(4, 1, requires_grad=True), torch.zeros(1, requires_grad=True)]
optimizer = torch.optim.Adam(weights)


def losses_of_a_task(x, y, steps):
    fast, losses = weights, []
    for _ in range(steps):
        grads = torch.autograd.grad(F.mse_loss(x @ fast[0] + fast[1], y), fast, create_graph=True)
        fast = [w - 0.1 * g for w, g in zip(fast, grads)]
        losses.append(F.mse_loss(x @ fast[0] + fast[1], y))
    return losses


def train(tasks, steps):
    for _ in range(tasks):
        loss = losses_of_a_task(torch.randn(8, 4), torch.randn(8, 1), steps)[-1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
