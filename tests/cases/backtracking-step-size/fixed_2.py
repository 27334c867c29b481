import torch


def make_objective(n=40, dim=5):
    a, noise = torch.randn(n, dim), 0.1 * torch.randn(n)
    target = torch.sigmoid(a @ torch.arange(dim).float().sub(2) + noise)

    def objective(theta):
        return (torch.sigmoid(a @ theta) - target).pow(2).sum()

    return objective


def descend(objective, dim=5, iterations=15):
    theta = torch.zeros(dim, requires_grad=True)
    lrs = []
    for _ in range(iterations):
        loss = objective(theta)
        lr = 1.0
        while True:
            theta.grad = None
            loss = objective(theta)
            loss.backward()
            trial = (theta - lr * theta.grad).detach()
            if objective(trial) < loss - 0.3 * lr * theta.grad.pow(2).sum() or lr < 1e-4:
                break
            lr *= 0.5
        theta = trial.requires_grad_()
        lrs.append(lr)
    return theta, lrs, objective(theta).item()


if __name__ == "__main__":
    torch.manual_seed(6)
    theta, lrs, final = descend(make_objective())
    print("step sizes", lrs[:5])
    print("RESULT", f"{final:.6g}", *(f"{v:.6g}" for v in theta.tolist()))
