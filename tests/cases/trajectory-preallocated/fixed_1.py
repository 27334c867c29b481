import torch

torch.manual_seed(76)
dim, n_in = 6, 2
W_h = (0.3 * torch.randn(dim, dim)).requires_grad_()
W_x = (0.3 * torch.randn(n_in, dim)).requires_grad_()
readout = (0.3 * torch.randn(dim)).requires_grad_()


def simulate(inputs):
    states = [torch.zeros(dim)]
    for t, u in enumerate(inputs):
        states.append(torch.tanh(states[t] @ W_h + u @ W_x))
    return torch.stack(states[1:])


def memory_task(length=10):
    u = torch.randn(length, n_in)
    return u, torch.roll(u[:, 0], 2).index_fill(0, torch.tensor([0, 1]), 0.0)


params = [W_h, W_x, readout]
for trial in range(30):
    u, target = memory_task()
    loss = (simulate(u) @ readout - target).pow(2).mean()
    grads = torch.autograd.grad(loss, params)
    with torch.no_grad():
        for p, g in zip(params, grads):
            p -= 0.05 * g
print(f"RESULT {loss.item():.6g} {readout.abs().sum().item():.6g}")
