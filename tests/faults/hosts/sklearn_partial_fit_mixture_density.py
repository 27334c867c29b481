"""A mixture density network behind the interface of scikit-learn: fit, partial_fit, predict, score."""
import inspect
import math

import numpy as np
import torch


class MixtureDensityRegressor:
    def __init__(self, components=3, hidden=20, lr=1e-2, batch_size=32, max_iter=8, tol=1e-4, random_state=None):
        self.components = components
        self.hidden = hidden
        self.lr = lr
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def get_params(self, deep=True):
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params):
        for name, value in params.items():
            setattr(self, name, value)
        return self

    # -- fitting ------------------------------------------------------------------------------

    def _build(self, n_features):
        if self.random_state is not None:
            torch.manual_seed(self.random_state)
        self.net_ = torch.nn.Sequential(
            torch.nn.Linear(n_features, self.hidden),
            torch.nn.Tanh(),
            torch.nn.Linear(self.hidden, 3 * self.components),
        )
        self.optimizer_ = torch.optim.Adam(self.net_.parameters(), lr=self.lr)
        self.loss_curve_ = []

    def _log_prob(self, X, y):
        logits, mu, log_sigma = self.net_(X).chunk(3, dim=1)
        z = (y[:, None] - mu) / log_sigma.exp()
        log_normal = -0.5 * z.square() - log_sigma - 0.5 * math.log(2 * math.pi)
        return torch.logsumexp(logits.log_softmax(1) + log_normal, dim=1)

    def _update(self, X, y):
        nll = -self._log_prob(X, y).mean()
        self.optimizer_.zero_grad()
        nll.backward()
        self.optimizer_.step()
        return nll.item()

    def partial_fit(self, X, y):
        X, y = self._check(X, y)
        if not hasattr(self, "net_"):
            self._build(X.shape[1])
        self.loss_curve_.append(self._update(X, y))
        return self

    def fit(self, X, y):
        X, y = self._check(X, y)
        self._build(X.shape[1])
        best = math.inf
        for self.n_iter_ in range(1, self.max_iter + 1):
            order = torch.randperm(len(X))
            total = 0.0
            for rows in order.split(self.batch_size):
                total += self._update(X[rows], y[rows]) * len(rows)
            self.loss_curve_.append(total / len(X))
            if self.loss_curve_[-1] > best - self.tol:
                break
            best = self.loss_curve_[-1]
        return self

    # -- using --------------------------------------------------------------------------------

    def predict(self, X):
        X, _ = self._check(X)
        with torch.no_grad():
            logits, mu, _ = self.net_(X).chunk(3, dim=1)
            return (logits.softmax(1) * mu).sum(1).numpy()

    def score(self, X, y):
        X, y = self._check(X, y)
        with torch.no_grad():
            return self._log_prob(X, y).mean().item()

    @staticmethod
    def _check(X, y=None):
        X = torch.as_tensor(np.asarray(X), dtype=torch.float32)
        return X, None if y is None else torch.as_tensor(np.asarray(y), dtype=torch.float32)


def sample(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, n)
    branch = rng.integers(0, 2, n) * 2 - 1
    return x[:, None], branch * (0.5 + 0.4 * x) + 0.05 * rng.standard_normal(n)


X, y = sample(300, 0)
X_new, y_new = sample(120, 1)
scores = {}
for components in (1, 3):
    model = MixtureDensityRegressor(components=components, random_state=7).fit(X, y)
    scores[components] = model.score(X_new, y_new)
    print(f"{components} components: {model.n_iter_} epochs, held-out log-likelihood {scores[components]:.3f}")
for start in range(0, 120, 40):
    model.partial_fit(X_new[start:start + 40], y_new[start:start + 40])
print("after more data", len(model.loss_curve_), "updates", model.get_params())
print("RESULT", f"{scores[1]:.6g} {scores[3]:.6g} {model.loss_curve_[-1]:.6g} {abs(model.predict(X_new)).sum():.6g}")
