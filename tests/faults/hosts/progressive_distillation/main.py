"""Train a small diffusion model, then halve its sampling steps until two are left."""
import torch

from distill import distill_round
from process import checkerboard, ddim_sample, diffuse, snr_weight
from vnet import VNet


def train_teacher(net: VNet, *, iterations: int, lr: float) -> float:
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    tail: list[float] = []
    for _ in range(iterations):
        x = checkerboard(96)
        t = torch.rand(len(x))
        z = diffuse(x, t)
        error = (net(z, t) - x).square().mean(dim=1)
        loss = (snr_weight(t) * error).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tail.append(loss.item())
    print(f"teacher: {tail[0]:.4f} -> {tail[-1]:.4f}")
    return tail[-1]


def main() -> None:
    torch.manual_seed(512)
    teacher = VNet()
    report = [train_teacher(teacher, iterations=16, lr=5e-3)]
    report.append(teacher.l1())

    n_steps = 16
    while n_steps > 2:
        n_steps //= 2
        student, losses = distill_round(teacher, n_steps, iterations=6, lr=2e-3)
        print(f"{n_steps:2d} steps: {losses[0]:.5f} -> {losses[-1]:.5f}")
        report += [student.l1(), losses[-1]]
        teacher = student

    samples = ddim_sample(teacher, torch.randn(64, 2), n_steps)
    report.append(samples.abs().mean().item())
    print("RESULT", *(f"{value:.6g}" for value in report))


if __name__ == "__main__":
    main()
