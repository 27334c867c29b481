import argparse
import math

import numpy as np
import torch


class BurgersPINN:
    """u_t + u u_x = nu u_xx,  u(x, 0) = -sin(pi x),  u(+-1, t) = 0"""

    def __init__(self, layers, nu, n_f, n_u, seed):
        rng = np.random.default_rng(seed)
        self.nu = nu
        self.net = self._mlp(layers)

        xf = rng.uniform([-1.0, 0.0], [1.0, 1.0], size=(n_f, 2)).astype(np.float32)
        self.x_f = torch.from_numpy(xf[:, :1].copy()).requires_grad_(True)
        self.t_f = torch.from_numpy(xf[:, 1:].copy()).requires_grad_(True)

        x0 = rng.uniform(-1, 1, size=(n_u, 1)).astype(np.float32)
        tb = rng.uniform(0, 1, size=(n_u, 1)).astype(np.float32)
        side = np.where(rng.uniform(size=(n_u, 1)) < 0.5, -1.0, 1.0).astype(np.float32)
        self.x_u = torch.from_numpy(np.vstack([x0, side]))
        self.t_u = torch.from_numpy(np.vstack([np.zeros_like(x0), tb]))
        self.u = torch.from_numpy(np.vstack([-np.sin(math.pi * x0), np.zeros_like(tb)]).astype(np.float32))

        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        self.lbfgs = torch.optim.LBFGS(
            self.net.parameters(), lr=1.0, max_iter=6, history_size=10, line_search_fn="strong_wolfe"
        )
        self.evaluations = 0
        self.trace = []

    @staticmethod
    def _mlp(layers):
        mods = []
        for a, b in zip(layers[:-2], layers[1:-1]):
            mods += [torch.nn.Linear(a, b), torch.nn.Tanh()]
        mods.append(torch.nn.Linear(layers[-2], layers[-1]))
        return torch.nn.Sequential(*mods)

    def net_u(self, x, t):
        return self.net(torch.cat([x, t], dim=1))

    def net_f(self):
        u = self.net_u(self.x_f, self.t_f)
        u_x, u_t = torch.autograd.grad(u.sum(), (self.x_f, self.t_f), create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), self.x_f, create_graph=True)
        return u_t + u * u_x - self.nu * u_xx

    def loss(self):
        loss_u = torch.mean((self.u - self.net_u(self.x_u, self.t_u)) ** 2)
        loss_f = torch.mean(self.net_f() ** 2)
        return loss_u + loss_f, loss_u, loss_f

    def train_adam(self, n):
        for _ in range(n):
            self.adam.zero_grad()
            loss, _, _ = self.loss()
            loss.backward(inputs=list(self.net.parameters()))
            self.adam.step()
            self.trace.append(loss.item())

    def closure(self):
        self.lbfgs.zero_grad()
        loss, loss_u, loss_f = self.loss()
        loss.backward(inputs=list(self.net.parameters()))
        self.evaluations += 1
        self.trace.append(loss.item())
        if self.evaluations % 10 == 0:
            print("eval %3d  loss %.5f  data %.5f  pde %.5f"
                  % (self.evaluations, loss.item(), loss_u.item(), loss_f.item()))
        return loss

    def train_lbfgs(self, n):
        for _ in range(n):
            self.lbfgs.step(self.closure)

    def predict(self, x, t):
        self.net.eval()
        with torch.no_grad():
            return self.net_u(x, t)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--nu", type=float, default=0.05)
    p.add_argument("--adam", type=int, default=10)
    p.add_argument("--lbfgs", type=int, default=6)
    p.add_argument("--seed", type=int, default=1234)
    return p.parse_args()


if __name__ == "__main__":
    args = parse()
    torch.manual_seed(args.seed)
    pinn = BurgersPINN([2, 16, 16, 1], args.nu, n_f=80, n_u=30, seed=args.seed)
    pinn.train_adam(args.adam)
    print("after adam", round(pinn.trace[-1], 5))
    pinn.train_lbfgs(args.lbfgs)
    print("after lbfgs", round(pinn.trace[-1], 5), "evaluations", pinn.evaluations)
    line = torch.linspace(-1, 1, 11).unsqueeze(1)
    profile = pinn.predict(line, torch.full_like(line, 0.5))
    weights = sum(w.detach().abs().sum().item() for w in pinn.net.parameters())
    print("RESULT %.6g %.6g %.6g" % (weights, pinn.trace[-1], profile.abs().sum().item()))
