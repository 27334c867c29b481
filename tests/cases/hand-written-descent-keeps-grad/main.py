import torch


def logistic(x, theta, bias):
    return torch.sigmoid(x @ theta + bias)


def nll(p, y):
    return -(y * p.clamp_min(1e-6).log() + (1 - y) * (1 - p).clamp_min(1e-6).log()).mean()


def fit(x, y, lr=0.1, iterations=60):
    theta = torch.zeros(x.shape[1], requires_grad=True)
    bias = torch.zeros((), requires_grad=True)
    trace = []
    for it in range(iterations):
        loss = nll(logistic(x, theta, bias), y)
        loss.backward()
        with torch.no_grad():
            for p in (theta, bias):
                p -= lr * p.grad
        trace.append(loss.item())
    return theta.detach(), trace


torch.manual_seed(99)
x = torch.randn(90, 4)
y = (x @ torch.tensor([1.0, -1.0, 2.0, 0.0]) + 0.5 * torch.randn(90) > 0).float()
theta, trace = fit(x, y)
print("RESULT", f"{trace[-1]:.6g}", *(f"{v:.6g}" for v in theta.tolist()))
