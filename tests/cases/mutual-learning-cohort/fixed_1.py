import torch
import torch.nn.functional as F

from peers import CNN, MLP, enrol

TEMPERATURE = 2.0
ALPHA = 0.7


def imitation(student_logits, teacher_logits):
    log_p = F.log_softmax(student_logits / TEMPERATURE, dim=1)
    q = F.softmax(teacher_logits / TEMPERATURE, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * TEMPERATURE ** 2


def lesson(cohort, signal, label):
    views = {peer.name: peer.net(signal) for peer in cohort}
    report = []
    for peer in cohort:
        own = views[peer.name]
        others = [v for name, v in views.items() if name != peer.name]
        task = F.cross_entropy(own, label)
        agree = sum(imitation(own, other.detach()) for other in others) / len(others)
        objective = task + ALPHA * agree
        peer.optimizer.zero_grad()
        objective.backward()
        peer.optimizer.step()
        report.append(task.item())
    return report


def heartbeats(n, length=24):
    label = torch.randint(3, (n,))
    t = torch.linspace(0, 1, length)
    centre = 0.2 + 0.25 * label.view(-1, 1) + 0.05 * torch.randn(n, 1)
    return torch.exp(-((t - centre) / 0.08) ** 2) + 0.25 * torch.randn(n, length), label


def main():
    torch.manual_seed(52)
    signal, label = heartbeats(144)
    cohort = [
        enrol("wide", MLP(24, 32, 3), lr=5e-3),
        enrol("narrow", MLP(24, 8, 3), lr=5e-3),
        enrol("conv", CNN(6, 3), lr=1e-2),
    ]
    for epoch in range(3):
        order = torch.randperm(len(label))
        for rows in order.chunk(6):
            report = lesson(cohort, signal[rows], label[rows])
        print(epoch, " ".join(f"{peer.name} {r:.4f}" for peer, r in zip(cohort, report)))
    print("RESULT", *(f"{sum(p.detach().abs().sum().item() for p in peer.net.parameters()):.6g}" for peer in cohort))


if __name__ == "__main__":
    main()
