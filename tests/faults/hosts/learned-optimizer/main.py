import torch

from optnet import CoordinatewiseLSTM
from problems import task_stream

CONFIG = dict(dim=8, horizon=15, unroll=5, n_tasks=10, meta_lr=1e-2, clip=1.0, seed=42)


def run_unroll(optnet, problem, theta, state, n_steps):
    """Unroll the learned optimizer, return the meta loss and where it ended."""
    meta_loss = 0.0
    for _ in range(n_steps):
        loss = problem(theta)
        (g,) = torch.autograd.grad(loss, theta, retain_graph=True)
        meta_loss = meta_loss + loss
        update, state = optnet(g, state)
        theta = theta + update
    return meta_loss + problem(theta), theta, state


def meta_train(cfg, optnet, stream):
    meta_opt = torch.optim.Adam(optnet.parameters(), lr=cfg["meta_lr"])
    log = []
    for i in range(cfg["n_tasks"]):
        name, problem, theta = next(stream)
        state = optnet.initial_state(cfg["dim"])
        for start in range(0, cfg["horizon"], cfg["unroll"]):
            theta = theta.detach().requires_grad_()
            state = tuple(s.detach() for s in state)
            meta_loss, theta, state = run_unroll(optnet, problem, theta, state, cfg["unroll"])
            meta_opt.zero_grad()
            meta_loss.backward()
            torch.nn.utils.clip_grad_norm_(optnet.parameters(), cfg["clip"])
            meta_opt.step()
            log.append(meta_loss.item() / (cfg["unroll"] + 1))
        print(f"{i:2d} {name:10s} mean loss in last window {log[-1]:.4f}")
    return log


def meta_test(cfg, optnet, stream, n=4):
    finals = []
    for _ in range(n):
        _, problem, theta = next(stream)
        state = optnet.initial_state(cfg["dim"])
        start = problem(theta).item()
        for _ in range(cfg["horizon"]):
            theta.requires_grad_()
            (g,) = torch.autograd.grad(problem(theta), theta)
            with torch.no_grad():
                update, state = optnet(g, state)
                theta = theta + update
        finals.append(problem(theta).item() / start)
    return finals


def main():
    cfg = CONFIG
    torch.manual_seed(cfg["seed"])
    optnet = CoordinatewiseLSTM()
    log = meta_train(cfg, optnet, task_stream(["quadratic", "logistic"], cfg["dim"], seed=1))
    ratios = meta_test(cfg, optnet, task_stream(["quadratic", "logistic"], cfg["dim"], seed=2))
    print("final/initial on new tasks:", " ".join(f"{r:.3f}" for r in ratios))
    weight = sum(p.abs().sum().item() for p in optnet.parameters())
    print("RESULT %.6g %.6g %.6g" % (weight, log[-1], sum(ratios)))


main()
