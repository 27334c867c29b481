import copy

import torch

from process import alpha_sigma, checkerboard, ddim_step, diffuse, snr_weight


def two_step_target(teacher, z, t, n_steps):
    """The x a one-step student must predict to land where two teacher steps land."""
    half, nxt = t - 0.5 / n_steps, t - 1.0 / n_steps
    with torch.no_grad():
        z_half = ddim_step(teacher(z, t), z, t, half)
        z_next = ddim_step(teacher(z_half, half), z_half, half, nxt)
        a_t, s_t = alpha_sigma(t)
        a_n, s_n = alpha_sigma(nxt)
        ratio = s_n / s_t
        return (z_next - ratio * z) / (a_n - ratio * a_t)


def distill_round(teacher, n_steps: int, *, iterations: int, lr: float):
    teacher = teacher.eval().requires_grad_(False)
    student = copy.deepcopy(teacher).train().requires_grad_(True)
    optimizer = torch.optim.Adam(student.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=iterations)
    losses: list[float] = []
    for _ in range(iterations):
        x = checkerboard(64)
        t = torch.randint(1, n_steps + 1, (len(x),)) / n_steps
        z = diffuse(x, t)
        target = two_step_target(teacher, z, t, n_steps)
        loss = (snr_weight(t) * (student(z, t) - target).square().mean(dim=1)).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return student, losses
