# Actor-critic with eligibility traces, Sutton & Barto 2nd ed. p. 332 (episodic)
# env: mountain-car-like valley with a short rope
import math
import random
import torch

torch.manual_seed(6)
random.seed(6)

gamma, lam_theta, lam_w = 0.98, 0.8, 0.8
alpha_theta, alpha_w = 0.05, 0.05
K = 5

centres = torch.cartesian_prod(torch.linspace(-1, 1, K), torch.linspace(-1, 1, 3))


def x(s):
    """radial basis features"""
    p, v = s
    z = torch.tensor([p, v * 8.0])
    return torch.exp(-((centres - z) ** 2).sum(1) / 0.4)


def valley_step(s, a):
    p, v = s
    v = max(-0.15, min(0.15, v + 0.03 * (a - 1) - 0.02 * math.sin(2.5 * p)))
    p = max(-1.0, p + v)
    return (p, v), (1.0 if p >= 0.6 else -0.05), p >= 0.6


def init_mlp(*dims):
    ps = []
    for i, o in zip(dims[:-1], dims[1:]):
        ps.append((torch.randn(i, o) / math.sqrt(i)).requires_grad_())
        ps.append(torch.zeros(o, requires_grad=True))
    return ps


def mlp(ps, inp):
    for W, b in zip(ps[:-2:2], ps[1:-2:2]):
        inp = torch.tanh(inp @ W + b)
    return inp @ ps[-2] + ps[-1]


theta = init_mlp(3 * K, 12, 3)
w = init_mlp(3 * K, 12, 1)


@torch.no_grad()
def apply_traces(params, traces, grads, decay, step_size):
    for p, z, g in zip(params, traces, grads):
        z.mul_(decay).add_(g)
        p.add_(step_size * z)


deltas, lengths = [], []
for episode in range(3):
    s = (random.uniform(-0.2, 0.1), 0.0)
    z_theta = [torch.zeros_like(p) for p in theta]
    z_w = [torch.zeros_like(p) for p in w]
    I, done, t = 1.0, False, 0
    while not done and t < 15:
        feats = x(s)
        pi = torch.distributions.Categorical(logits=mlp(theta, feats))
        a = pi.sample()
        s2, r, done = valley_step(s, a.item())

        v = mlp(w, feats).squeeze()
        with torch.no_grad():
            v2 = 0.0 if done else mlp(w, x(s2)).item()
        delta = r + gamma * v2 - v.item()

        grad_w = torch.autograd.grad(v, w)
        grad_theta = torch.autograd.grad(pi.log_prob(a), theta)
        apply_traces(w, z_w, grad_w, gamma * lam_w, alpha_w * delta)
        apply_traces(theta, z_theta, [I * g for g in grad_theta], gamma * lam_theta, alpha_theta * delta)

        I *= gamma
        s = s2
        t += 1
        deltas.append(delta)
    lengths.append(t)
    print("episode %d  steps %2d  mean |delta| %.4f" % (episode, t, sum(map(abs, deltas[-t:])) / t))

with torch.no_grad():
    grid = [mlp(w, x((p / 5, 0.0))).item() for p in range(-5, 4)]
print("v along the valley:", " ".join("%.2f" % g for g in grid))
print("RESULT %.6g %.6g %.6g" % (
    sum(p.abs().sum().item() for p in theta), sum(p.abs().sum().item() for p in w), deltas[-1]))
