"""PINN for the Burgers equation, student project (port of the TF code of Raissi et al.)

loss = MSE_u (initial/boundary data) + MSE_f (residual). Since the two losses have different sizes
I train with both and look at them separately.
"""
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(1234)
np.random.seed(1234)
torch.set_default_dtype(torch.float64)

nu = 0.01 / np.pi
layers = [2, 20, 20, 1]


class PhysicsInformedNN:
    def __init__(self, X_all, n_u, u, layers, lb, ub):
        self.lb = torch.tensor(lb)
        self.ub = torch.tensor(ub)
        # data points first, collocation points after them
        self.x = torch.tensor(X_all[:, 0:1], requires_grad=True)
        self.t = torch.tensor(X_all[:, 1:2], requires_grad=True)
        self.n_u = n_u
        self.u = torch.tensor(u)
        self.net = self.initialize_NN(layers)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=5e-3)
        self.loss_log = []

    def initialize_NN(self, layers):
        mods = []
        for i in range(len(layers) - 1):
            lin = nn.Linear(layers[i], layers[i + 1])
            nn.init.xavier_normal_(lin.weight)
            nn.init.zeros_(lin.bias)
            mods.append(lin)
            if i < len(layers) - 2:
                mods.append(nn.Tanh())
        return nn.Sequential(*mods)

    def neural_net(self, x, t):
        X = torch.cat([x, t], 1)
        H = 2.0 * (X - self.lb) / (self.ub - self.lb) - 1.0
        return self.net(H)

    def net_f(self, u, x, t):
        ones = torch.ones_like(u)
        u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
        u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
        return u_t + u * u_x - nu * u_xx

    def train(self, nIter):
        for it in range(nIter):
            u_pred = self.neural_net(self.x, self.t)
            f_pred = self.net_f(u_pred, self.x, self.t)

            loss_u = torch.mean((u_pred[:self.n_u] - self.u) ** 2)
            loss_f = torch.mean(f_pred[self.n_u:] ** 2)

            self.optimizer.zero_grad()
            loss_u.backward(retain_graph=True)
            norm_u = self.grad_norm()
            loss_f.backward()
            self.optimizer.step()

            self.loss_log.append([loss_u.item(), loss_f.item(), norm_u])
            if it % 5 == 0:
                print('It: %d, Loss_u: %.3e, Loss_f: %.3e, |g_u|: %.2e' % (it, *self.loss_log[-1]))

    def grad_norm(self):
        return sum(p.grad.norm().item() ** 2 for p in self.net.parameters() if p.grad is not None) ** 0.5

    def predict(self, X):
        with torch.no_grad():
            return self.neural_net(torch.tensor(X[:, 0:1]), torch.tensor(X[:, 1:2])).numpy()


if __name__ == "__main__":
    N_u, N_f = 24, 60
    lb, ub = np.array([-1.0, 0.0]), np.array([1.0, 1.0])

    x0 = np.linspace(-1, 1, N_u // 2)[:, None]
    X0 = np.hstack([x0, np.zeros_like(x0)])
    tb = np.random.rand(N_u // 2, 1)
    Xb = np.hstack([np.where(np.arange(N_u // 2)[:, None] % 2 == 0, -1.0, 1.0), tb])
    u_train = np.vstack([-np.sin(np.pi * x0), np.zeros_like(tb)])
    X_f = lb + (ub - lb) * np.random.rand(N_f, 2)

    model = PhysicsInformedNN(np.vstack([X0, Xb, X_f]), N_u, u_train, layers, lb, ub)
    model.train(12)
    out = model.predict(X_f[:5])
    print("RESULT", *["%.6f" % v for v in model.loss_log[-1]], "%.6f" % out.sum())
