"""Level-set topology optimisation of a heat conductor.

Material sits where phi > 0. Heat is produced everywhere and leaves at a sink in the middle
of the left wall; we minimise thermal compliance f.u subject to a volume constraint, handled
by an augmented Lagrangian. phi is a nodal field and is renormalised now and then.
"""
from types import SimpleNamespace

import torch

torch.manual_seed(21)
torch.set_default_dtype(torch.double)

N = 9
VOLUME = 0.4
EPS = 1e-2


def edges(n):
    idx = torch.arange(n * n).view(n, n)
    horizontal = torch.stack([idx[:, :-1].flatten(), idx[:, 1:].flatten()])
    vertical = torch.stack([idx[:-1].flatten(), idx[1:].flatten()])
    return torch.cat([horizontal, vertical], dim=1)


EDGE = edges(N)
SINK = (N // 2) * N
HEAT = torch.full((N * N,), 1.0 / N**2)


def density(phi, width):
    return torch.sigmoid(phi / width)


def temperature(rho):
    """Solve the conduction network for nodal temperatures."""
    k_node = EPS + (1 - EPS) * rho**2
    k = 2 * k_node[EDGE[0]] * k_node[EDGE[1]] / (k_node[EDGE[0]] + k_node[EDGE[1]])
    K = torch.zeros(N * N, N * N)
    K = K.index_put((EDGE[0], EDGE[1]), -k, accumulate=True)
    K = K + K.T
    K = K - torch.diag(K.sum(1))
    anchor = torch.zeros(N * N)
    anchor[SINK] = 1e3
    return torch.linalg.solve(K + torch.diag(anchor), HEAT)


def perimeter(rho):
    field = rho.view(N, N)
    dx = field[1:, :-1] - field[:-1, :-1]
    dy = field[:-1, 1:] - field[:-1, :-1]
    return torch.sqrt(dx**2 + dy**2 + 1e-6).mean()


def renormalise(phi):
    with torch.no_grad():
        g = phi.view(N, N)
        gx, gy = torch.gradient(g)
        slope = torch.sqrt(gx**2 + gy**2).mean().clamp(min=0.05)
        phi.div_(slope / 0.4)


def initial_phi():
    y, x = torch.meshgrid(torch.arange(N).double(), torch.arange(N).double(), indexing="ij")
    return (0.6 * torch.cos(x * 1.6) * torch.cos(y * 1.6) + 0.1 + 0.05 * torch.randn(N, N)).flatten()


phi = initial_phi().requires_grad_()
optimizer = torch.optim.Adam([phi], lr=0.08)
state = SimpleNamespace(multiplier=0.0, penalty=4.0, it=0, violation=1.0, compliance=[])

while state.it < 32:
    optimizer.zero_grad()
    rho = density(phi, width=0.25)
    u = temperature(rho)
    compliance = HEAT @ u
    gap = rho.mean() - VOLUME
    lagrangian = compliance + state.multiplier * gap + 0.5 * state.penalty * gap**2 + 0.05 * perimeter(rho)
    lagrangian.backward()
    optimizer.step()

    state.it += 1
    state.violation = gap.item()
    state.compliance.append(compliance.item())
    if state.it % 4 == 0:
        state.multiplier += state.penalty * state.violation
        print(f"{state.it:3d}  compliance {state.compliance[-1]:.4f}  volume gap {state.violation:+.4f}  mult {state.multiplier:+.3f}")
    if state.it % 10 == 0:
        renormalise(phi)

for row in (phi.detach() > 0).view(N, N):
    print("".join("#" if cell else "." for cell in row))
print("RESULT %.6g %.6g %.6g %.6g" % (phi.detach().abs().sum(), state.compliance[-1], state.violation, state.multiplier))
