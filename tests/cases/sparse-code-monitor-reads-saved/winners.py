import torch


class KeepWinners(torch.autograd.Function):
    """Keeps the k largest activations of every row."""

    @staticmethod
    def forward(ctx, x, k):
        mask = torch.zeros_like(x, dtype=torch.bool)
        mask.scatter_(1, x.topk(k, dim=1).indices, True)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        mask, = ctx.saved_tensors
        return grad * mask, None
