import torch
from torch import Tensor

from bayes import BayesRegressor
from outputs import Bound

N_DRAWS = 3
N_DATA = 96


def toy(n: int) -> tuple[Tensor, Tensor]:
    x = torch.rand(n, 1) * 4 - 2
    return x, torch.sin(2 * x) + 0.1 * (1 + x.abs()) * torch.randn(n, 1)


def negative_elbo(model: BayesRegressor, x: Tensor, y: Tensor, beta: float) -> Bound:
    draws = [model(x) for _ in range(N_DRAWS)]
    nll = torch.stack([d.nll(y) for d in draws]).mean() * (N_DATA / len(x))
    kl = draws[0].kl
    return Bound((nll + beta * kl) / N_DATA, nll.item() / N_DATA, kl.item())


@torch.no_grad()
def predictive(model: BayesRegressor, x: Tensor, n: int = 20) -> tuple[Tensor, Tensor]:
    means = torch.stack([model(x).mean for _ in range(n)])
    return means.mean(0), means.std(0)


def main() -> None:
    torch.manual_seed(8)
    x, y = toy(N_DATA)
    model = BayesRegressor()
    optimizer = torch.optim.Adam([
        {"params": [model.inner.mu, model.outer.mu], "lr": 3e-2},
        {"params": [model.inner.rho, model.outer.rho], "lr": 1e-2},
    ])
    bounds: list[tuple[float, float]] = []
    for epoch in range(12):
        beta = min(1.0, (epoch + 1) / 8)
        for idx in torch.randperm(N_DATA).split(32):
            bound = negative_elbo(model, x[idx], y[idx], beta)
            optimizer.zero_grad()
            bound.loss.backward()
            optimizer.step()
            bounds.append((bound.nll, bound.kl))
        if epoch % 4 == 3:
            print(f"epoch {epoch + 1}: nll {bounds[-1][0]:.4f}  kl {bounds[-1][1]:.3f}  beta {beta:.2f}")

    x_test, y_test = toy(40)
    mean, spread = predictive(model, x_test)
    rmse = (mean - y_test).pow(2).mean().sqrt().item()
    _, far = predictive(model, torch.full((1, 1), 5.0))
    print(f"rmse {rmse:.4f}, epistemic spread inside {spread.mean().item():.4f}, far away {far.item():.4f}")
    mu = sum(p.detach().abs().sum().item() for k, p in model.named_parameters() if k.endswith("mu"))
    rho = sum(p.detach().abs().sum().item() for k, p in model.named_parameters() if k.endswith("rho"))
    print("RESULT %.6g %.6g %.6g %.6g %.6g" % (mu, rho, *bounds[-1], rmse))


if __name__ == "__main__":
    main()
