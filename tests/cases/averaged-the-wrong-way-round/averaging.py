import torch


@torch.no_grad()
def soft_update(online, target, tau):
    """Moves the target's weights a little towards the online network's."""
    for p, slow in zip(online.parameters(), target.parameters()):
        slow.mul_(1 - tau)
        slow.add_(tau * p)
