import torch
from torch import Tensor, nn


def critic_objective(real_score: Tensor, fake_score: Tensor) -> Tensor:
    return fake_score.mean() - real_score.mean()


def gradient_penalty(critic: nn.Module, real: Tensor, fake: Tensor) -> Tensor:
    """Two-sided penalty on the critic's slope along random chords."""
    mix = torch.rand(real.size(0), 1)
    chord = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(chord)
    (slope,) = torch.autograd.grad(
        outputs=score,
        inputs=chord,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
    )
    return (slope.norm(2, dim=1) - 1).square().mean()
