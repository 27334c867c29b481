# %% imports
import math
import torch
import torch.nn as nn

torch.manual_seed(31)
torch.set_default_dtype(torch.float64)

# %% problem: u_t = alpha u_xx on [0,1], u(x,0)=sin(pi x), u(0,t)=u(1,t)=0
ALPHA = 0.2
N_R, N_B, N_0 = 64, 16, 32


def exact(x, t):
    return torch.exp(-ALPHA * math.pi ** 2 * t) * torch.sin(math.pi * x)


def sample_points():
    xr = torch.rand(N_R, 1).requires_grad_()
    tr = torch.rand(N_R, 1).requires_grad_()
    xb = (torch.arange(N_B) % 2).double().unsqueeze(1)
    tb = torch.rand(N_B, 1)
    x0 = torch.rand(N_0, 1)
    return (xr, tr), (xb, tb), (x0, torch.zeros_like(x0))


# %% network
class PINN(nn.Module):
    def __init__(self, width=20, depth=3):
        super().__init__()
        dims = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims[:-1], dims[1:]))
        self.head = nn.Linear(width, 1)
        for layer in [*self.hidden, self.head]:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x, t):
        h = torch.cat([x, t], dim=1)
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.head(h)


def d(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(model, x, t):
    u = model(x, t)
    return d(u, t) - ALPHA * d(d(u, x), x)


# %% self-adaptive weights: minimise over the net, maximise over the weights
model = PINN()
lam = nn.ParameterDict({k: nn.Parameter(torch.ones(())) for k in ("pde", "bc", "ic")})
opt_u = torch.optim.Adam(model.parameters(), lr=8e-3)
opt_lam = torch.optim.Adam(lam.parameters(), lr=2e-2, maximize=True)

log = []
for step in range(40):
    interior, boundary, initial = sample_points()
    terms = {
        "pde": residual(model, *interior).square().mean(),
        "bc": model(*boundary).square().mean(),
        "ic": (model(*initial) - exact(*initial)).square().mean(),
    }
    total = sum(lam[k].square() * terms[k] for k in terms)

    opt_u.zero_grad()
    opt_lam.zero_grad()
    total.backward()
    opt_u.step()
    opt_lam.step()

    log.append({k: v.item() for k, v in terms.items()})
    if step % 8 == 0:
        print(step, "  ".join(f"{k}={v:.4f}" for k, v in log[-1].items()))

# %% error on a grid
with torch.no_grad():
    g = torch.linspace(0, 1, 21)
    X, T = torch.meshgrid(g, g, indexing="ij")
    X, T = X.reshape(-1, 1), T.reshape(-1, 1)
    err = (model(X, T) - exact(X, T)).norm() / exact(X, T).norm()
print(f"relative L2 error {err.item():.4f}", "weights", {k: round(v.item(), 4) for k, v in lam.items()})
print("RESULT %.6g %.6g %.6g %.6g" % (
    sum(p.abs().sum().item() for p in model.parameters()),
    sum(p.item() for p in lam.values()),
    sum(log[-1].values()), err.item()))
