import torch


class AdjointEuler(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y0, field, dt, steps, *params):
        ctx.field, ctx.dt, ctx.steps = field, dt, steps
        y = y0
        for _ in range(steps):
            y = y + dt * field(y)
        ctx.save_for_backward(y, *params)
        return y

    @staticmethod
    def backward(ctx, grad):
        y, *params = ctx.saved_tensors
        total = [torch.zeros_like(p) for p in params]
        a = grad
        for _ in range(ctx.steps):
            with torch.enable_grad():
                here = y.detach().requires_grad_()
                slope = ctx.field(here)
            with torch.no_grad():
                y = y - ctx.dt * slope
            with torch.enable_grad():
                here = y.detach().requires_grad_()
                slope = ctx.field(here)
                da, *dp = torch.autograd.grad(slope, [here, *params], a)
            total = [t + ctx.dt * g for t, g in zip(total, dp)]
            a = a + ctx.dt * da
        return a, None, None, None, *total


def odeint(field, y0, length, steps):
    return AdjointEuler.apply(y0, field, length / steps, steps, *field.parameters())
