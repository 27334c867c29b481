"""Morse clusters stand in for the DFT reference."""
import torch


def morse_energy(pos, depth=1.0, a=1.2, r0=1.1):
    n = pos.shape[-2]
    i, j = torch.triu_indices(n, n, offset=1)
    r = (pos[..., i, :] - pos[..., j, :]).norm(dim=-1)
    return (depth * (1 - torch.exp(-a * (r - r0))) ** 2 - depth).sum(-1)


def make_dataset(n_frames, n_atoms, seed):
    gen = torch.Generator().manual_seed(seed)
    base = torch.rand(n_atoms, 3, generator=gen) * 2.0
    frames = base + 0.25 * torch.randn(n_frames, n_atoms, 3, generator=gen)
    frames.requires_grad_()
    energies = morse_energy(frames)
    (g,) = torch.autograd.grad(energies.sum(), frames)
    return frames.detach(), energies.detach(), -g
